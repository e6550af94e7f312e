import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { probeDirectory } from "../../core/probe-directory.ts";
import { findPrebuild } from "../../sampler/prebuild.ts";
import { probeEnvironment } from "./probe-environment.ts";

const inject = path.join(probeDirectory(), "inject");

describe("the environment of the probe", () => {
  it("puts its directory before the user's path and names the directory and the step file", () => {
    const { env, lost, missing } = probeEnvironment({ PATH: "/bin", PYTHONPATH: "/mine" }, "/run/probe", false);
    expect(env).toEqual({
      PATH: "/bin",
      PYTHONPATH: `${inject}:/mine`,
      STORMLOG_GATE_PROBE_DIR: "/run/probe",
      STORMLOG_GATE_PROBE_MS: "20",
      STORMLOG_GATE_STEP_FILE: "/run/probe/step",
    });
    expect([lost, missing]).toEqual([[], null]);
  });

  it("adds no empty entry to the path, which would be the working directory", () => {
    for (const given of [{}, { PYTHONPATH: "" }]) {
      expect(probeEnvironment(given, "/run/probe", false).env.PYTHONPATH).toBe(inject);
    }
  });

  describe("NODE_OPTIONS", () => {
    const preload = path.join(probeDirectory(), "node", "preload.cjs");
    const optionsOf = (given: Record<string, string>, argv: readonly string[], cwd = "/nowhere") =>
      probeEnvironment(given, "/run/probe", false, { command: { kind: "argv", argv }, cwd }).env.NODE_OPTIONS;

    it("NODE_OPTIONS loads one more script, after the user's own", () => {
      const added = expect.stringMatching(/^--no-warnings --require "?[^"]*preload\.cjs"?$/);
      expect(optionsOf({ NODE_OPTIONS: "--no-warnings" }, ["./serve.sh"])).toEqual(added);
      expect(existsSync(preload)).toBe(true);
    });

    it("NODE_OPTIONS stays as it is under Node's permissions, where the script could not be read", () => {
      expect(optionsOf({}, ["node", "--permission", "a.js"])).toBeUndefined();
      expect(optionsOf({ NODE_OPTIONS: "--experimental-permission" }, ["node", "a.js"])).toBe(
        "--experimental-permission",
      );
      const cwd = mkdtempSync(path.join(tmpdir(), "stormlog-permission-"));
      onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
      writeFileSync(path.join(cwd, "package.json"), '{"scripts":{"start":"node --permission a.js"}}');
      expect(optionsOf({}, ["npm", "start"], cwd)).toBeUndefined();
    });
  });

  it("lets the user set the polling interval, and prints probe messages only with --debug", () => {
    const { env } = probeEnvironment({ STORMLOG_GATE_PROBE_MS: "5" }, "/run/probe", true);
    expect(env).toMatchObject({ STORMLOG_GATE_PROBE_MS: "5", STORMLOG_GATE_DEBUG: "1" });
  });

  it.skipIf("reason" in findPrebuild())(
    "preloads the heap library where it was asked for, before the user's own",
    () => {
      const { env, lost } = probeEnvironment(
        { STORMLOG_GATE_HEAP: "preload", LD_PRELOAD: "/mine.so" },
        "/run/probe",
        false,
      );
      const [library = "", mine] = env.STORMLOG_GATE_LD_PRELOAD?.split(":") ?? [];
      expect(existsSync(library)).toBe(true);
      expect([mine, env.LD_PRELOAD, lost]).toEqual(["/mine.so", "/mine.so", []]);
      expect(
        probeEnvironment({ STORMLOG_GATE_HEAP: "yes" }, "/run/probe", false).env.STORMLOG_GATE_LD_PRELOAD,
      ).toBeUndefined();
    },
  );

  it.skipIf("reason" in findPrebuild())(
    "lets programs with AddressSanitizer start behind a preloaded library, unless the user decides otherwise",
    () => {
      const optionsOf = (given: Readonly<Record<string, string>>) =>
        probeEnvironment({ STORMLOG_GATE_HEAP: "preload", ...given }, "/run/probe", false).env.ASAN_OPTIONS;
      expect(optionsOf({})).toBe("verify_asan_link_order=0");
      expect(optionsOf({ ASAN_OPTIONS: "detect_leaks=0" })).toBe("detect_leaks=0:verify_asan_link_order=0");
      for (const own of ["verify_asan_link_order=1", "detect_leaks=0,verify_asan_link_order=1:color=never"])
        expect(optionsOf({ ASAN_OPTIONS: own })).toBe(own);
      expect(optionsOf({ STORMLOG_GATE_HEAP: "yes" })).toBeUndefined();
    },
  );
});
