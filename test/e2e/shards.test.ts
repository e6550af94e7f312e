import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const cwd = freshDirectory();
const at = (...parts: string[]) => path.join(cwd, ...parts);

/** Holds some memory for a while. */
const work = (mebibytes: number, more = "") => [
  process.execPath,
  "-e",
  `const keep = Buffer.alloc(${mebibytes} * 2 ** 20, 1); setTimeout(() => keep.length, 800);${more}`,
];

const slurm = (rank: number, world = 4, job = "812"): Record<string, string> => ({
  ...{ SLURM_JOB_ID: job, SLURM_STEP_ID: "0", SLURM_PROCID: String(rank), SLURM_LOCALID: String(rank % 2) },
  ...{ SLURM_NODEID: String(Math.floor(rank / 2)), SLURM_STEP_NUM_TASKS: String(world), SLURM_NTASKS: String(world) },
});

const record = (output: string, command: readonly string[], env: Record<string, string> = {}) =>
  cli(["record", "--interval", "5", "--output", output, "--", ...command], { cwd, env });

let merges = 0;
const merge = (...args: string[]) => cli(["merge", "--json", "--bundle", `merged-${++merges}`, ...args], { cwd });

interface Payload {
  readonly verdict: string;
  readonly warnings: readonly string[];
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly verdict: string;
    readonly judgement: { readonly reason: string } | null;
    readonly error: { readonly code: string; readonly message: string } | null;
    readonly runs: readonly {
      readonly directory: string;
      readonly info: { readonly session: string };
      readonly analysis: {
        readonly ranks: { readonly world_size: number; readonly participating_ranks: readonly number[] };
      };
    }[];
  }[];
}

const payload = ({ stdout }: CliResult): Payload => JSON.parse(stdout).payload;
const errors = (result: CliResult) => payload(result).scenarios.flatMap(({ error }) => error?.code ?? []);

const info = (shard: string): string => at(shard, "recording.json");
const edit = (shard: string, change: (json: Record<string, Record<string, unknown>>) => void): void => {
  const json = JSON.parse(readFileSync(info(shard), "utf8"));
  change(json);
  writeFileSync(info(shard), JSON.stringify(json));
  // Features list the digest of the file.
  rmSync(at(shard, "features.json"), { force: true });
};

/** A copy of the job's recordings, to break something of. */
const copyOf = (name: string, ranks: readonly number[] = [0, 1, 2, 3]): string => {
  for (const rank of ranks) cpSync(at(`job/rank-000${rank}`), at(name, `rank-000${rank}`), { recursive: true });
  return name;
};

beforeAll(async () => {
  const recorded = await Promise.all(
    [0, 1, 2, 3].map((rank) => record("job", work(rank === 3 ? 160 : 8), slurm(rank))),
  );
  for (const { code, stderr } of recorded) expect(code, stderr).toBe(0);
  for (const rank of [0, 1, 2, 3])
    edit(`job/rank-000${rank}`, ({ identity }) => Object.assign(identity ?? {}, { host: `node${rank >> 1}` }));
}, 120_000);

describe("features that a recording stores", () => {
  it("stored features are compared with the samples of a deciding rank and refused when rewritten", async () => {
    expect((await record("stored", work(8), slurm(0, 1))).code).toBe(0);
    const merged = await cli(["merge", "--bundle", `merged-${++merges}`, "--unjudged", "pass", "stored"], { cwd });
    expect(merged.stdout).toContain("Features of 1 recording: 1 compared with their samples, 0 computed from them");
    const file = at("stored", "features.json");
    writeFileSync(file, readFileSync(file, "utf8").replace(/"digest":"./, '"digest":"x'));
    const refused = await cli(["merge", "--bundle", `merged-${++merges}`, "stored"], { cwd });
    expect([refused.code, refused.stdout]).toEqual([5, expect.stringContaining("SHARD_INVALID")]);
  }, 60_000);
});

describe("recordings under a launcher", () => {
  it("recordings of one session go to a directory a rank, even when all begin at once", () => {
    expect(readdirSync(at("job")).sort()).toEqual(["rank-0000", "rank-0001", "rank-0002", "rank-0003"]);
    const { session, identity } = JSON.parse(readFileSync(info("job/rank-0002"), "utf8"));
    expect([session, identity.rank, identity.world_size]).toEqual(["slurm-812.0", 2, 4]);
  });

  it("recordings do not touch those of an earlier job", async () => {
    const before = statSync(at("job/rank-0001/samples.parquet")).mtimeMs;
    const again = await record("job", work(8), slurm(1, 4, "813"));
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("RUN_DIRECTORY_IN_USE")]);
    expect(again.stderr).toContain("of the job slurm-812.0; this is the job slurm-813.0");
    expect(statSync(at("job/rank-0001/samples.parquet")).mtimeMs).toBe(before);
  });

  it("a batch script makes one recording with rank 0 of 1", async () => {
    const { SLURM_STEP_ID: _step, SLURM_STEP_NUM_TASKS: _tasks, ...batch } = slurm(0);
    const result = await record("batch", work(8), batch);
    expect(result.code, result.stderr).toBe(0);
    expect(JSON.parse(readFileSync(info("batch"), "utf8")).identity).toMatchObject({ rank: 0, world_size: 1 });
  });

  it("a recording of one gate around several ranks belongs to the lowest of them", async () => {
    // A launcher of ranks as a launcher looks to the gate: a program of that name, and processes with the variables of
    // ranks.
    writeFileSync(
      at("torchrun"),
      `import os, subprocess, sys
base = 2 * int(sys.argv[sys.argv.index("--node-rank") + 1])
code = "import time; keep = bytearray(20 << 20); time.sleep(0.6)"
ranks = [subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ, RANK=str(base + n), LOCAL_RANK=str(n), WORLD_SIZE="4")) for n in (0, 1)]
sys.exit(max(one.wait() for one in ranks))
`,
    );
    const agents = [0, 1].map((node) =>
      record("agents", [
        "python3",
        at("torchrun"),
        "--nnodes",
        "2",
        "--node-rank",
        String(node),
        "--rdzv-id",
        "night-7",
        "t.py",
      ]),
    );
    for (const { code, stderr } of await Promise.all(agents)) expect(code, stderr).toBe(0);
    const names = readdirSync(at("agents")).sort();
    expect(names).toEqual([expect.stringMatching(/^node-.+-0$/), expect.stringMatching(/^node-.+-1$/)]);
    const identities = names.map((name) => JSON.parse(readFileSync(info(`agents/${name}`), "utf8")));
    expect(identities.map(({ identity }) => [identity.rank, identity.world_size])).toEqual([
      [0, 4],
      [2, 4],
    ]);
    expect(new Set(identities.map(({ session }) => session))).toEqual(new Set(["torchrun-night-7"]));
    const result = await merge("agents", "--budget", "host=4GiB");
    expect(errors(result), result.stderr).toEqual([]);
  });
});

describe("merging recordings", () => {
  it("merge gives one verdict over all ranks, names the rank and its machine, and holds every recording", async () => {
    const result = await merge("job", "--budget", "host=128MiB");
    expect(result.code, result.stderr).toBe(4);
    const { verdict, scenarios } = payload(result);
    expect([verdict, scenarios.length]).toEqual(["fail", 1]);
    expect(scenarios[0]?.judgement?.reason).toMatch(/^rank 3 \(on node1\) host/);
    expect(scenarios[0]?.runs[0]?.analysis.ranks).toMatchObject({ world_size: 4, participating_ranks: [0, 1, 2, 3] });
    const directory = scenarios[0]?.runs[0]?.directory ?? "";
    const bundle = `merged-${merges}`;
    expect(readdirSync(at(bundle, directory)).sort()).toEqual(["rank-0000", "rank-0001", "rank-0002", "rank-0003"]);
    const own = (file: string) => readFileSync(file).equals(readFileSync(at("job/rank-0003/samples.parquet")));
    expect(own(at(bundle, directory, "rank-0003/samples.parquet"))).toBe(true);
    const manifest = JSON.parse(readFileSync(at(bundle, "manifest.json"), "utf8"));
    expect(manifest.files.length).toBeGreaterThan(4 * 6);
    // The bundle is whole: it can be analysed over all ranks, shown, and merged once more.
    const analysis = await cli(["analyze", "--json", bundle], { cwd });
    expect(JSON.parse(analysis.stdout).ranks.participating_ranks, analysis.stderr).toEqual([0, 1, 2, 3]);
    const shown = await cli(["show", "--json", bundle], { cwd });
    expect(payload(shown).verdict).toBe("fail");
    expect(payload(await merge(bundle)).verdict).toBe("fail");
  });

  it("merge passes where every rank keeps its budget and needs no baseline for that", async () => {
    const result = await merge("job", "--budget", "host=1GiB");
    expect([result.code, payload(result).verdict], result.stderr).toEqual([0, "pass"]);
  });

  it("judges nothing without a baseline", async () => {
    const result = await merge("job");
    expect([result.code, payload(result).verdict]).toEqual([6, "unjudged"]);
  });

  it("merge never passes while a rank is missing, and names it", async () => {
    const result = await merge(copyOf("three", [0, 1, 3]), "--budget", "host=1GiB");
    expect([result.code, payload(result).verdict]).toEqual([6, "unjudged"]);
    expect(payload(result).scenarios[0]?.judgement?.reason).toContain("rank 2 of 4 is missing from the recordings");
    expect((await merge("three", "--budget", "host=1GiB", "--expect", "4", "--unjudged", "pass")).code).toBe(6);
  });

  it("fails with the command of any rank, and reports its rank and output", async () => {
    const copy = copyOf("failing", [0, 1, 2]);
    const failed = await record(copy, work(8, "console.error('no such shape'); process.exitCode = 3;"), slurm(3));
    expect(failed.code).toBe(1);
    const result = await merge(copy, "--budget", "host=1GiB");
    expect([result.code, payload(result).verdict]).toEqual([1, "error"]);
    const { error } = payload(result).scenarios[0] ?? {};
    expect(error).toMatchObject({ code: "COMMAND_FAILED", output_tail: expect.stringContaining("no such shape") });
    expect(error?.message).toMatch(/^rank 3 on .*: the command exited with status 3/);
    // As mpirun ends the others.
    edit(`${copy}/rank-0000`, (json) => Object.assign(json, { exit: { kind: "interrupted", signal: "SIGTERM" } }));
    const ended = await merge(copy, "--budget", "host=1GiB");
    expect([ended.code, errors(ended)]).toEqual([1, ["COMMAND_FAILED"]]);
  });

  it("keeps recordings of different jobs apart, as legs of a matrix are", async () => {
    await Promise.all([record("legs/linux", work(8)), record("legs/mac", work(24))]);
    const result = await merge("legs", "--budget", "host=1GiB");
    expect(payload(result).scenarios.map(({ scenario }) => scenario)).toEqual(["linux/default", "mac/default"]);
    expect(result.code).toBe(0);
  });

  it("takes bundles and recordings of one job together", async () => {
    copyOf("mixed", [0, 1, 2]);
    const args = [
      "run",
      "--repeats",
      "1",
      "--baseline",
      "none",
      "--attribute",
      "off",
      "--budget",
      "host=1GiB",
      "--bundle",
      "mixed",
    ];
    const ran = await cli([...args, "--", ...work(8)], { cwd, env: slurm(3) });
    expect(ran.code, ran.stderr).toBe(0);
    // A gate of a rank has a separate bundle below the requested one.
    expect(existsSync(at("mixed/rank-0003/manifest.json"))).toBe(true);
    const result = await merge("mixed", "--baseline", "none", "--budget", "host=1GiB");
    expect([result.code, payload(result).scenarios.length], result.stderr).toEqual([0, 1]);
  });
});

describe("recordings that cannot be counted", () => {
  const CASES: readonly (readonly [string, string, (shard: string) => void])[] = [
    ["cut in its samples", "PARQUET_UNREADABLE", (shard) => truncateSync(at(shard, "samples.parquet"), 900)],
    ["without its text", "RECORDING_INVALID", (shard) => rmSync(info(shard))],
    ["cut in its text", "INPUT_TRUNCATED", (shard) => truncateSync(info(shard), 100)],
    [
      "of a newer release",
      "INPUT_SCHEMA_VERSION",
      (shard) => edit(shard, (json) => Object.assign(json, { schema: "stormlog.recording/2" })),
    ],
    [
      "of another commit",
      "COMMITS_DIFFER",
      (shard) => edit(shard, (json) => Object.assign(json, { commit: "b".repeat(40) })),
    ],
    [
      "of a rank that another one is, too",
      "RANK_CLASH",
      (shard) => {
        cpSync(at(shard), at(`${shard}-again`), { recursive: true });
        edit(`${shard}-again`, ({ clock }) => Object.assign(clock ?? {}, { epoch_ns: "1700000000000000001" }));
      },
    ],
  ];

  it.each(CASES)("a recording that is %s is named (%s), and the others still count", async (name, code, breakIt) => {
    const copy = copyOf(`broken/${name.replaceAll(" ", "-")}`);
    for (const rank of [0, 1, 2, 3])
      edit(`${copy}/rank-000${rank}`, (json) => Object.assign(json, { commit: "a".repeat(40) }));
    breakIt(`${copy}/rank-0002`);
    const result = await merge(copy, "--budget", "host=128MiB", "--unjudged", "pass");
    expect(result.code, result.stderr).toBe(5);
    expect(errors(result)).toEqual([code]);
    // The measured ranks fail all the same.
    expect(payload(result).verdict).toBe("fail");
    expect(result.stderr).toMatch(/rank 3 \(node1\)/);
  });

  it("a copied recording counts once", async () => {
    const copy = copyOf("copied");
    cpSync(at(copy, "rank-0002"), at(copy, "rank-0009"), { recursive: true });
    const result = await merge(copy, "--budget", "host=1GiB");
    expect([result.code, payload(result).verdict]).toEqual([0, "pass"]);
    expect(payload(result).warnings.join("\n")).toContain("rank-0009 is a copy of rank-0002 and counts once");
  });

  it("recordings of two jobs are judged separately, and neither job is whole", async () => {
    const copy = copyOf("unrelated");
    edit(`${copy}/rank-0001`, (json) => Object.assign(json, { session: "slurm-700.0" }));
    const result = await merge(copy, "--budget", "host=1GiB");
    expect([result.code, payload(result).verdict]).toEqual([6, "unjudged"]);
    expect(payload(result).scenarios).toHaveLength(2);
    expect(payload(result).warnings.join("\n")).toContain("recordings of 2 jobs, each judged separately");
  });

  it("recordings without a named job are taken for one job, with a warning", async () => {
    const copy = copyOf("unnamed");
    for (const rank of [0, 1, 2, 3]) {
      edit(`${copy}/rank-000${rank}`, (json) => Object.assign(json, { session: `${rank}`.repeat(32) }));
    }
    const result = await merge(copy, "--budget", "host=1GiB");
    expect([result.code, payload(result).scenarios.length], result.stderr).toEqual([0, 1]);
    expect(payload(result).warnings.join("\n")).toContain("Set STORMLOG_GATE_SESSION");
  });

  it("missing recordings are reported in one sentence, even for ten thousand empty directories", async () => {
    for (let i = 0; i < 10_000; i++) mkdirSync(at("empty", `rank-${i}`), { recursive: true });
    const result = await merge("empty");
    expect(result.code).toBe(5);
    expect(errors(result)).toEqual(["INPUT_NOT_FOUND"]);
    const withOne = await merge("empty", "job", "--budget", "host=1GiB");
    expect([withOne.code, payload(withOne).scenarios[0]?.verdict]).toEqual([5, "pass"]);
  });
});
