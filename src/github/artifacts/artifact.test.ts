import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleFiles } from "../../report/bundle/bundle-files.ts";
import { runContext } from "../api/run-context.ts";
import { type ArtifactJob, type ArtifactStore, uploadBundle, uploadTimeline } from "./artifact.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "artifact-"));
  mkdirSync(path.join(directory, "bundle/runs"), { recursive: true });
  writeFileSync(path.join(directory, "bundle/report.json"), "{}");
  writeFileSync(path.join(directory, "bundle/runs/a.bin"), "a");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const job = (upload: ArtifactStore["upload"], ms = 1000): ArtifactJob => ({
  store: { upload, list: async () => [], read: async () => new Uint8Array() },
  context: runContext({ GITHUB_REPOSITORY: "octo/model", GITHUB_RUN_ID: "7" }),
  name: "gate",
  retentionDays: null,
  deadline: { ms },
});

const taken = new Error("Failed to CreateArtifact: (409) Conflict: an artifact with this name already exists");

describe("uploading the bundle", () => {
  it("hands over every regular file, and no link out of the bundle", async () => {
    symlinkSync("/etc/passwd", path.join(directory, "bundle/secret"));
    symlinkSync("/etc", path.join(directory, "bundle/etc"));
    const { files: found } = bundleFiles(path.join(directory, "bundle"));
    const files = found.map((file) => `bundle/${file.path}`);
    expect(files).toEqual(["bundle/report.json", "bundle/runs/a.bin"]);
  });

  it.each(['"', ":", "<", ">", "|", "*", "?", "\r", "\n", "\\"])(
    "names a file with %j in its name as left out",
    (character) => {
      writeFileSync(path.join(directory, `bundle/runs/b${character}c`), "b");
      const { files, leftOut } = bundleFiles(path.join(directory, "bundle"));
      expect(files.map((file) => file.path)).toEqual(["report.json", "runs/a.bin"]);
      expect(leftOut).toEqual([{ path: `runs/b${character}c`, reason: expect.stringContaining("artifact") }]);
    },
  );

  it("uploadBundle gives the artifact's id and name", async () => {
    const upload = await uploadBundle(
      job(async () => 42),
      path.join(directory, "bundle"),
    );
    expect(upload).toEqual({ ok: true, id: 42, name: "gate" });
  });

  it("takes the next name while one is taken", async () => {
    const names: string[] = [];
    const store = async (name: string): Promise<number> => {
      names.push(name);
      if (names.length < 3) throw taken;
      return 1;
    };
    expect(await uploadBundle(job(store), path.join(directory, "bundle"))).toMatchObject({ ok: true, name: "gate-3" });
    expect(names).toEqual(["gate", "gate-2", "gate-3"]);
  });

  it.each([
    ["all names are taken", async () => Promise.reject(taken), "409"],
    ["the service refuses", async () => Promise.reject(new Error("insufficient usage")), "insufficient usage"],
    ["the service never answers", () => new Promise<never>(() => {}), "no answer within"],
  ])("uploadBundle returns one warning when %s", async (_name, store, words) => {
    const upload = await uploadBundle(job(store, 50), path.join(directory, "bundle"));
    expect(upload).toMatchObject({ ok: false, warning: expect.stringContaining(words) });
  });

  it("uploadBundle fails when the bundle is empty or gone", async () => {
    expect(
      await uploadBundle(
        job(async () => 1),
        path.join(directory, "none"),
      ),
    ).toMatchObject({ ok: false });
    mkdirSync(path.join(directory, "empty"));
    expect(
      await uploadBundle(
        job(async () => 1),
        path.join(directory, "empty"),
      ),
    ).toMatchObject({ ok: false });
  });
});

describe("uploading the timeline", () => {
  it("uploadTimeline uploads the raw file, under a name of the gate's", async () => {
    const html = path.join(directory, "timeline.html");
    writeFileSync(html, "<p>");
    let seen: unknown;
    const store: ArtifactStore["upload"] = async (name, files, _root, options) => {
      seen = { name, text: readFileSync(files[0] ?? "", "utf8"), file: path.basename(files[0] ?? ""), ...options };
      return 5;
    };
    expect(await uploadTimeline(job(store), html, directory)).toMatchObject({ ok: true, id: 5 });
    expect(seen).toEqual({ name: "gate.html", file: "gate.html", text: "<p>", raw: true, retentionDays: null });
  });
});
