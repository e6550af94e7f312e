import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { looksZipped, readOnlyEntry } from "../../../src/github/artifacts/zip-entry.ts";
import { MAX_SECTION_BYTES } from "../../../src/report/model/section.ts";
import { HEAD, SECTION, sectionBytes } from "../testing/sample-section.ts";
import { FORK_RUN, StageTwo } from "../testing/stage-two.ts";
import { type HostileEntry, zip } from "./hostile-zip.ts";

/** What an untrusted run may upload instead of the one small file that is expected. */
const good = sectionBytes();
const entry = (overrides: Partial<HostileEntry> = {}): HostileEntry => ({ name: SECTION, content: good, ...overrides });
const read = (bytes: Buffer, maxBytes = MAX_SECTION_BYTES): Promise<Buffer> =>
  readOnlyEntry(bytes, SECTION, { maxBytes });
const zeros = (bytes: number): Buffer => Buffer.alloc(bytes, "0");

describe("an archive with exactly the one file", () => {
  it("an archive with the one file is read, packed or stored", async () => {
    expect(await read(zip([entry()]))).toEqual(good);
    expect(await read(zip([entry({ method: 0 })]))).toEqual(good);
  });

  it("an archive by another archiver is read", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-zip-"));
    try {
      writeFileSync(path.join(directory, SECTION), good);
      const script =
        "import sys,zipfile\nwith zipfile.ZipFile('a.zip','w',zipfile.ZIP_DEFLATED) as z: z.write(sys.argv[1])";
      execFileSync("python3", ["-c", script, SECTION], { cwd: directory });
      const { readFileSync } = await import("node:fs");
      expect(await read(readFileSync(path.join(directory, "a.zip")))).toEqual(good);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe("an archive is refused", () => {
  const names: readonly (readonly [string, string])[] = [
    ["climbs out of its directory", "../../../../home/runner/.bashrc"],
    ["climbs out with the right name at its end", `../${SECTION}`],
    ["starts at the root", `/tmp/${SECTION}`],
    ["starts at a drive", `C:\\${SECTION}`],
    ["climbs out with backslashes", `..\\${SECTION}`],
    ["lies in a directory", `a/${SECTION}`],
    ["is a directory", `${SECTION}/`],
    ["is empty", ""],
    ["ends in a NUL", `${SECTION}\0`],
    ["hides behind a NUL", `${SECTION}\0/../../x`],
    ["has the wrong case", SECTION.toUpperCase()],
    ["looks alike", SECTION.replace("o", "о")],
    ["is a configuration", ".git/config"],
    ["is a workflow command", "::error::pwned"],
    ["is 60,000 characters long", "x".repeat(60_000)],
  ];
  it.each(names)("an archive is refused when the name in it %s", async (_what, name) => {
    await expect(read(zip([entry({ name })]))).rejects.toMatchObject({ code: "ARCHIVE_REFUSED" });
  });

  const shapes: readonly (readonly [string, () => Buffer])[] = [
    ["holds nothing", () => zip([])],
    ["holds a second file", () => zip([entry(), entry({ name: "x" })])],
    ["holds its file twice", () => zip([entry(), entry()])],
    [
      "holds its file twice and claims one",
      () => zip([entry({ content: Buffer.from("{}"), saysCrc: 1 }), entry()], { saysEntries: 1 }),
    ],
    [
      "holds 60,000 files",
      () => zip(Array.from({ length: 60_000 }, (_, n) => entry({ name: `${n}`, content: Buffer.alloc(0) }))),
    ],
    ["claims 65,535 files", () => zip([entry()], { saysEntries: 65_535 })],
    ["claims no file", () => zip([entry()], { saysEntries: 0 })],
    ["holds a link", () => zip([entry({ mode: 0o120777, content: Buffer.from("/etc/passwd") })])],
    ["holds a device", () => zip([entry({ mode: 0o060666 })])],
    ["holds a pipe", () => zip([entry({ mode: 0o010666 })])],
    ["holds a directory by its mode", () => zip([entry({ mode: 0o040755 })])],
    ["is encrypted", () => zip([entry({ flags: 1 })])],
    ["is strongly encrypted", () => zip([entry({ flags: 0x41 })])],
    ["is packed in an unknown way", () => zip([entry({ method: 14 })])],
    ["says its file is smaller than it is", () => zip([entry({ saysBytes: 10 })])],
    ["says its file is larger than it is", () => zip([entry({ saysBytes: good.length + 1 })])],
    ["says its packed file is larger than the archive", () => zip([entry({ saysPacked: 10_000_000 })])],
    [
      "says its stored file is longer than the archive",
      () => zip([entry({ method: 0, saysBytes: 4_000_000, saysPacked: 4_000_000 })]),
    ],
    ["has another checksum than its file", () => zip([entry({ saysCrc: 7 })])],
    ["points its file outside", () => zip([entry({ saysOffset: 0xfffffff0 })])],
    ["points its directory outside", () => zip([entry()], { saysDirectoryOffset: 0xfffffff0 })],
    [
      "has bytes before it that its offsets ignore",
      () => Buffer.concat([Buffer.from("MZ".repeat(50)), zip([entry()])]),
    ],
    ["has something behind it", () => zip([entry()], { suffix: Buffer.from("trailing") })],
    [
      "has a second end in its comment",
      () => zip([entry()], { comment: zip([entry({ content: Buffer.from("{}") })]) }),
    ],
    ["is cut off in the middle", () => zip([entry()]).subarray(0, 400)],
    ["is cut off at its end", () => zip([entry()]).subarray(0, -3)],
    ["is its first four bytes", () => zip([entry()]).subarray(0, 4)],
    ["has a broken stream in it", () => zip([entry({ method: 8, content: good })]).fill(0xff, 80, 200)],
    [
      "is made of noise after its first bytes",
      () => Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(50_000, "PK\u0005\u0006")]),
    ],
  ];
  it.each(shapes)("an archive is refused when it %s", async (_what, make) => {
    await expect(read(make())).rejects.toMatchObject({ code: "ARCHIVE_REFUSED" });
  });

  const bombs: readonly (readonly [string, () => Buffer])[] = [
    ["unpacks to 3 MiB of one letter", () => zip([entry({ content: zeros(3 << 20) })])],
    ["unpacks to 200 MiB", () => zip([entry({ content: zeros(200 << 20) })])],
    ["says 100 bytes and unpacks to 100 MiB", () => zip([entry({ content: zeros(100 << 20), saysBytes: 100 })])],
    [
      "says 100 bytes packed and unpacks to 100 MiB",
      () => zip([entry({ content: zeros(100 << 20), saysBytes: 100, saysPacked: 100 })]),
    ],
    ["says 4 GiB", () => zip([entry({ saysBytes: 0xfffffffe })])],
    [
      "is a 64-bit archive that says 8 EiB",
      () => zip([entry({ saysBytes: 0xffffffff, extra: Buffer.from("01000800ffffffffffffff7f", "hex") })]),
    ],
  ];
  it.each(bombs)("an archive is refused without unpacking when it %s", async (_what, make) => {
    const bomb = make();
    const before = process.memoryUsage().rss;
    await expect(read(bomb)).rejects.toMatchObject({ code: "ARCHIVE_REFUSED" });
    expect(process.memoryUsage().rss - before).toBeLessThan(40 << 20);
  });

  it("an archive is refused at the first byte over the limit, whatever size it claims", async () => {
    // Random text, so that its ratio is not the reason.
    const text = Buffer.from(Array.from({ length: 100_000 }, (_, n) => 32 + ((n * 7919 + (n >> 3) * 31) % 90)));
    expect(await read(zip([entry({ content: text })]), 100_000)).toHaveLength(100_000);
    await expect(read(zip([entry({ content: text })]), 99_999)).rejects.toThrow(/more than 99999/);
  });

  it.each([
    ["encrypted", entry({ flags: 1 }), /is encrypted/],
    ["a link", entry({ mode: 0o120777 }), /other than a plain file/],
    ["packed in an unknown way", entry({ method: 14 }), /unknown way/],
    ["a bomb", entry({ content: zeros(3 << 20) }), /more tightly/],
    ["damaged", entry({ saysCrc: 7 }), /checksum/],
  ])("an archive is refused with its reason when it is %s", async (_what, one, why) => {
    await expect(read(zip([one]))).rejects.toThrow(why);
  });

  it("an archive is refused with a message that quotes none of its content", async () => {
    const error = await read(zip([entry({ name: "\u001b[31m::error::x" })])).catch((cause: Error) => cause.message);
    expect(error).toBe("the archive holds a file of another name");
  });
});

describe("other bytes", () => {
  it.each([
    ["an empty file", Buffer.alloc(0)],
    ["a section", good],
    ["a gzip stream", Buffer.from("1f8b0800", "hex")],
    ["a naked deflate stream", deflateRawSync(good)],
    ["half a signature", Buffer.from("PK")],
  ])("%s is not taken for an archive", (_what, bytes) => {
    expect(looksZipped(bytes)).toBe(false);
  });
});

describe("artifacts of an untrusted run", () => {
  const stage = new StageTwo();
  beforeAll(() => stage.start());
  afterAll(() => stage.stop());
  beforeEach(() => stage.reset());
  afterEach(() => expect(stage.faults).toEqual([]));

  const left = (bytes: Uint8Array, lies = {}, name = SECTION): number =>
    stage.actions.addArtifact(FORK_RUN, name, bytes, lies);
  const refused = async (why: RegExp): Promise<void> => {
    const posted = await stage.post();
    expect(posted.logs.join("\n")).toMatch(why);
    expect(posted.outputs.verdict).toBe("");
    expect(stage.comment).toContain("### ❔ Memory: ");
    expect(stage.comment).not.toMatch(/### [✅⚠❌]/u);
  };

  it("an artifact is read zipped and unzipped", async () => {
    for (const bytes of [zip([entry()]), good]) {
      stage.reset();
      stage.fork();
      left(bytes);
      expect((await stage.post()).outputs.verdict).toBe("fail");
    }
  });

  it("an artifact is refused when its bytes differ from the upload", async () => {
    stage.fork();
    left(good, { digest: `sha256:${"0".repeat(64)}` });
    await refused(/digest does not match/);
  });

  it.each([
    ["no digest", null],
    ["an empty digest", ""],
    ["a weak digest", `md5:${"0".repeat(32)}`],
    ["half a digest", "sha256:abc"],
    ["a digest with more behind it", `sha256:${"0".repeat(64)}00`],
  ])("an artifact is refused with %s", async (_what, digest) => {
    stage.fork();
    left(good, { digest });
    await refused(/no digest/);
  });

  it("an artifact is refused when the store sends more than the listed size", async () => {
    stage.fork();
    left(Buffer.concat([good, Buffer.alloc(MAX_SECTION_BYTES, " ")]), { size: 1000 });
    await refused(/larger than/);
  });

  it("an artifact whose listed size is too large is not fetched", async () => {
    stage.fork();
    left(good, { size: MAX_SECTION_BYTES + 1 });
    await refused(/larger than/);
    expect(stage.actions.store.requests).toEqual([]);
  });

  it("an artifact of another run in the listing is not fetched", async () => {
    stage.fork();
    left(good, { runId: 502 });
    await stage.post();
    expect(stage.actions.store.requests).toEqual([]);
  });

  it("an artifact of another run of the same commit is not fetched", async () => {
    stage.fork();
    stage.actions.addRun({
      id: 777,
      event: "pull_request",
      headSha: HEAD,
      headBranch: "topic",
      headRepo: "mallory/model",
    });
    stage.actions.addArtifact(777, SECTION, good);
    await stage.post();
    expect(stage.actions.store.requests).toEqual([]);
    expect(stage.comment).toContain("unjudged");
  });

  it("an expired artifact is refused", async () => {
    stage.fork();
    left(good, { expired: true });
    await refused(/has expired/);
  });

  it.each(["file:///etc/passwd", "ftp://example.org/x", "data:,x", "javascript:alert(1)", "not an address", ""])(
    "an artifact is not fetched from %j",
    async (location) => {
      stage.fork();
      left(good, { location });
      await refused(/no address|not encrypted/);
    },
  );

  it("an artifact is not followed to a second address", async () => {
    stage.fork();
    const id = left(good);
    stage.actions.store.blobs.set("/elsewhere", good);
    const location = `${stage.actions.store.url}/elsewhere`;
    stage.actions.store.failure = ({ path: asked }) =>
      asked === `/blob/${id}` ? { kind: "status", status: 302, headers: { location } } : null;
    expect((await stage.post()).outputs.verdict).toBe("");
    expect(stage.actions.store.requests.map(({ path: asked }) => asked)).not.toContain("/elsewhere");
    expect(stage.comment ?? "").not.toContain("### ❌ Memory: ");
  });

  it("an archive in an archive is not a section", async () => {
    stage.fork();
    left(zip([entry({ content: zip([entry()]) })]));
    await refused(/not valid JSON/);
  });

  it("a program, a picture or a page is not a section", async () => {
    stage.fork();
    for (const text of ["\u007fELF", "\u0089PNG\r\n", "<!doctype html><script>alert(1)</script>", "%PDF-1.7"]) {
      left(Buffer.from(text, "latin1"));
    }
    await refused(/not valid JSON/);
  });

  it("artifacts leave no file on the disk", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-zip-"));
    vi.stubEnv("TMPDIR", directory);
    try {
      stage.fork();
      left(zip([entry({ name: "../../../../tmp/stormlog-escaped" })]));
      left(zip([entry({ mode: 0o120777, content: Buffer.from("/etc/passwd") })]));
      await refused(/other than a plain file/);
      expect(existsSync("/tmp/stormlog-escaped")).toBe(false);
      expect(readdirSync(directory)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("the report reads the newest of 500 artifacts within its request limit", async () => {
    stage.fork();
    for (let n = 0; n < 500; n += 1) left(Buffer.from(`${n}`), {}, `stormlog-section-default-l${n}.json`);
    left(good);
    const posted = await stage.post();
    expect(posted.outputs.verdict).toBe("fail");
    expect(stage.actions.store.requests.length).toBeLessThanOrEqual(512);
    expect(stage.comment?.length).toBeLessThan(60_100);
  });

  it("the report fetches at most 64 MiB of 40 artifacts of 4 MiB", async () => {
    stage.fork();
    const large = Buffer.concat([good, Buffer.alloc(MAX_SECTION_BYTES - good.length, " ")]);
    for (let n = 0; n < 40; n += 1) left(large, {}, `stormlog-section-default-l${n}.json`);
    const posted = await stage.post();
    expect(stage.actions.store.requests.length).toBeLessThanOrEqual(16);
    expect(posted.logs.join()).toContain("24 more artifacts look like sections");
  });

  it("artifacts with similar names are not fetched", async () => {
    stage.fork();
    for (const name of [
      "stormlog-section-default.html",
      "stormlog-section-defaults.json",
      "x/stormlog-section-default.json",
    ]) {
      left(good, {}, name);
    }
    await stage.post();
    expect(stage.actions.store.requests).toEqual([]);
  });

  it("a section links only to artifacts of its own run", async () => {
    stage.fork();
    const own = left(Buffer.from("x"), {}, "stormlog-default");
    left(sectionBytes({ bundleArtifact: own, timelineArtifact: own }));
    await stage.post();
    expect(stage.comment).toContain(`/actions/runs/${FORK_RUN}/artifacts/${own}`);
    stage.reset();
    stage.fork();
    left(sectionBytes({ bundleArtifact: 4711, timelineArtifact: 4712 }));
    await stage.post();
    expect(stage.comment).not.toMatch(/471[12]/);
  });
});
