import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { throwAwayHome } from "./home.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-home-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const write = (name: string): void => {
  mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
  writeFileSync(path.join(directory, name), name);
};

describe("the home of a state", () => {
  it("the home of a state has the user's caches and installations, also moved ones, and no logins", async () => {
    const caches = [
      "real/.npm/_cacache/x",
      "real/.local/lib/python3/site-packages/a.py",
      "cache/pip/x",
      "hf/hub/model",
    ];
    const logins = [
      "real/.npmrc",
      "real/.netrc",
      "real/.config/gh/hosts.yml",
      "hf/token",
      "real/.cargo/credentials.toml",
    ];
    for (const name of [...caches, ...logins]) write(name);
    const scratch = path.join(directory, "scratch");
    mkdirSync(scratch);
    const env = await throwAwayHome(scratch, {
      HOME: path.join(directory, "real"),
      XDG_CACHE_HOME: path.join(directory, "cache"),
      HF_HOME: path.join(directory, "hf"),
      LANG: "C",
    });
    const home = path.join(scratch, "home");
    expect(env).toEqual({ HOME: home, LANG: "C" });
    const seen = [
      ".npm/_cacache/x",
      ".local/lib/python3/site-packages/a.py",
      ".cache/pip/x",
      ".cache/huggingface/hub/model",
    ];
    expect(seen.map((name) => readFileSync(path.join(home, name), "utf8"))).toEqual(caches);
    const hidden = [".npmrc", ".netrc", ".config", ".cache/huggingface/token", ".cargo/credentials.toml"];
    expect(hidden.filter((name) => existsSync(path.join(home, name)))).toEqual([]);

    rmSync(scratch, { recursive: true, force: true });
    expect(caches.filter((name) => !existsSync(path.join(directory, name)))).toEqual([]);
  });

  it("throwAwayHome returns only a new HOME where the caller has no variables", async () => {
    expect(await throwAwayHome(directory, {})).toEqual({ HOME: path.join(directory, "home") });
  });
});
