import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CATALOGUE } from "../../src/lab/catalogue.ts";
import { fuzzRound } from "./fuzz.ts";
import { releaseRound } from "./releases.ts";
import { bisectRound, culpritRound } from "./searches.ts";
import { storeRounds } from "./stores.ts";

/** Result of one round: tries and failures, or why it could not run. */
type Round =
  | { readonly kind: "tried"; readonly tries: number; readonly failures: number; readonly output: string }
  | { readonly kind: "unavailable"; readonly reason: string };

export interface Campaign {
  readonly name: string;
  /** Description of one try, for the evidence page. */
  readonly unit: string;
  /** Expected seconds of a round on two cores; a round that does not fit into the time left is not begun. */
  readonly seconds: number;
  /** The same seed makes the same draws. */
  readonly round: (seed: number) => Promise<Round>;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function run(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const [program = "", ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output: Buffer.concat(chunks).toString("utf8") }));
  });
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

interface TestRound {
  readonly files: readonly string[];
  readonly only?: string;
  readonly tries?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A round that is one or several test files: `tries` is the number of tries per run, set through `env`; without it each
 * test that was not skipped is one.
 */
async function testRound(seed: number, { files, only, tries, env = {} }: TestRound): Promise<Round> {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-soak-"));
  const report = path.join(directory, "report.json");
  try {
    const filter = only === undefined ? [] : ["-t", only];
    const argv = [
      "npx",
      "vitest",
      "run",
      ...files,
      ...filter,
      "--reporter=default",
      "--reporter=json",
      `--outputFile=${report}`,
    ];
    const { code, output } = await run(argv, { ...env, STORMLOG_TEST_SEED: String(seed) });
    const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, "utf8")) as VitestReport;
    if (passed + failed === 0) return { kind: "unavailable", reason: "every test of it is skipped on this machine" };
    const failures = code === 0 ? 0 : Math.max(1, failed);
    return { kind: "tried", tries: tries ?? passed + failed, failures, output };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Every unit test file with a property; the seed of the draws is that of the round. */
function propertyRound(seed: number): Promise<Round> {
  const tests = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  const found = tests
    .map((name) => path.join("src", name))
    .map((file) => ({ file, properties: readFileSync(file, "utf8").split("fc.assert(").length - 1 }))
    .filter(({ properties }) => properties > 0);
  const tries = found.reduce((sum, { properties }) => sum + properties, 0);
  return testRound(seed, { files: found.map(({ file }) => file), tries, env: { STORMLOG_TEST_DRAWS: "1" } });
}

/** A round that is a program: one failure when it does not exit with 0. */
async function programRound(argv: readonly string[], tries: number, env: Record<string, string> = {}): Promise<Round> {
  const { code, output } = await run(argv, env);
  return { kind: "tried", tries, failures: code === 0 ? 0 : 1, output };
}

/** Both readers on the ring of a Python process that writes without a pause. The native one needs a compiler. */
async function ringRound(seed: number): Promise<Round> {
  const env = { STORMLOG_TEST_RING_DRAINS: String(RING_DRAINS) };
  const plain = await testRound(seed, { files: ["test/probe/ring-stress.test.ts"], tries: RING_DRAINS, env });
  if (plain.kind === "unavailable") return plain;
  const filter = ["--", "ring of a real Python process"];
  const native = await programRound(["bash", "native/test/run.sh", "plain", ...filter], RING_DRAINS, env);
  if (native.kind === "unavailable") return native;
  return {
    kind: "tried",
    tries: plain.tries + native.tries,
    failures: plain.failures + native.failures,
    output: plain.output + native.output,
  };
}

/** One pattern in both states, judged by its stored record. A pattern whose framework is absent is not counted. */
async function labRound(pattern: string): Promise<Round> {
  const output = mkdtempSync(path.join(tmpdir(), "gate-soak-"));
  const options = ["--device", "cpu", "--python", PYTHON, "--baseline", "file:baselines", "--output", output];
  try {
    const round = await programRound([process.execPath, "dist/cli.js", "lab", "run", pattern, ...options], 1);
    const file = path.join(output, "lab.json");
    // A round that broke off leaves none: its own output has the reason.
    if (!existsSync(file)) return round;
    const { patterns } = JSON.parse(readFileSync(file, "utf8")) as { patterns: { outcome: string }[] };
    return patterns[0]?.outcome === "skipped" ? { kind: "tried", tries: 0, failures: 0, output: "" } : round;
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** Fixed releases. Where none can be installed the campaign is left out. */
async function fixedRound(seed: number): Promise<Round> {
  const { judged, wrong, skipped } = await releaseRound(FIXED_RELEASES, seed, "python3");
  if (judged === 0) return { kind: "unavailable", reason: skipped[0] ?? "nothing was judged" };
  return { kind: "tried", tries: judged, failures: wrong.length, output: [...wrong, ...skipped].join("\n") };
}

const tried = (tries: number, faults: readonly string[]): Round => ({
  kind: "tried",
  tries,
  failures: faults.length,
  output: faults.join("\n"),
});

const FIXED_RELEASES = 24;
const SEARCHES = 2;
const RING_DRAINS = 5_000_000;
const FUZZ_EXECUTIONS = 100_000;
const FUZZ_SMALL = 40_000;
const FUZZ_LARGE = 20;
const STORE_ROUNDS = 200;
const DRAWN_PROGRAMS = 8;
const PYTHON = process.env.STORMLOG_TEST_TORCH_PYTHON ?? "/usr/bin/python3";

const KILLS_A_ROUND = 250;

/** Each process that holds a run together, without a wall and behind both kinds. */
const KILLS: readonly Campaign[] = ["gate", "launcher", "init", "command"].flatMap((victim) =>
  ["off", "user", "sudo"]
    .filter((isolation) => victim !== "init" || isolation !== "off")
    .map((isolation) => ({
      name: `kills-${victim}-${isolation}`,
      unit: "killed at a random time, with daemons in sessions of their own: recording readable, no process left",
      seconds: 60,
      round: (seed: number) =>
        testRound(seed, {
          files: [`test/measure/${victim === "gate" ? "gate" : "launcher"}-death.test.ts`],
          only: `${victim}'? with isolation '${isolation}'`,
          tries: KILLS_A_ROUND,
          env: { STORMLOG_TEST_KILLS: String(KILLS_A_ROUND) },
        }),
    })),
);

/** Everything that is tried many times. Each round is judged by the test or program itself. */
export const CAMPAIGNS: readonly Campaign[] = [
  ...KILLS,
  {
    name: "peaks",
    unit: "peaks of 1 GiB held for 20 ms, within 2 %",
    seconds: 10,
    round: (seed) =>
      testRound(seed, { files: ["test/measure/peaks.test.ts"], tries: 10, env: { STORMLOG_TEST_PEAK_TRIES: "5" } }),
  },
  {
    name: "clean",
    unit: "clean runs of the PyTorch walkthrough that pass without a finding",
    seconds: 90,
    round: (seed) =>
      testRound(seed, {
        files: ["test/e2e/walkthrough.test.ts"],
        only: "passes the clean state",
        tries: 4,
        env: { STORMLOG_TEST_CLEAN_TRIES: "4" },
      }),
  },
  {
    name: "heap",
    unit: "programs measured from inside: leaks named, clean ones passed",
    seconds: 150,
    round: (seed) =>
      testRound(seed, {
        files: ["test/e2e/inside.test.ts"],
        tries: 4,
        env: { STORMLOG_TEST_HEAP_TRIES: "1", STORMLOG_TEST_HEAP_CLEAN_TRIES: "3" },
      }),
  },
  {
    name: "races",
    unit: "24 jobs of a matrix that write one comment and one verdict at once",
    seconds: 60,
    round: (seed) =>
      testRound(seed, {
        files: ["test/action/matrix.test.ts"],
        only: "every time",
        tries: 10,
        env: { STORMLOG_TEST_MATRIX_TRIES: "10" },
      }),
  },
  {
    name: "writers",
    unit: "rounds of concurrent writers of one ref: no record lost",
    seconds: 60,
    round: (seed) =>
      testRound(seed, {
        files: ["test/action/ref-store.test.ts"],
        tries: 5,
        env: { STORMLOG_TEST_WRITER_ROUNDS: "5" },
      }),
  },
  {
    name: "stores",
    unit: "writers of one file store killed or stopped at a random time: no acknowledged run lost",
    seconds: 60,
    round: async (seed) => {
      const { rounds, lost, errors, ...counts } = await storeRounds(STORE_ROUNDS, seed);
      const output = JSON.stringify({ ...counts, lost, errors });
      return { kind: "tried", tries: rounds, failures: lost.length + errors.length, output };
    },
  },
  {
    name: "lab",
    unit: "patterns of the leak lab, leaky and fixed, with the expected outcome and line",
    seconds: 90,
    round: (seed) => {
      const pattern = CATALOGUE[seed % CATALOGUE.length]?.name ?? "python_cache";
      return labRound(pattern);
    },
  },
  {
    name: "releases",
    unit: "releases whose leak is fixed, in runs of 10 s without a baseline: not red, no line named",
    // Packages are installed by the first round.
    seconds: 300,
    round: fixedRound,
  },
  {
    name: "bisect",
    unit: "searches of 64 commits for the one that begins to keep 8 MiB: found in at most 9 builds",
    seconds: 240,
    round: async (seed) => tried(SEARCHES, await bisectRound(SEARCHES, seed)),
  },
  {
    name: "culprit",
    unit: "searches of 40 new versions in a lock for the one that begins to keep 8 MiB: found in at most 8 environments",
    seconds: 300,
    round: async (seed) => tried(SEARCHES, await culpritRound(SEARCHES, seed)),
  },
  {
    name: "fuzz",
    unit: "mutated files read or refused by any reader, at most a third of them plain text, within 10 s and 1 GiB",
    seconds: 60,
    round: async (seed) => {
      const { executions, faults } = await fuzzRound(FUZZ_EXECUTIONS, seed);
      return { kind: "tried", tries: executions, failures: faults.length, output: faults.join("\n") };
    },
  },
  {
    name: "snapshots",
    unit: "mutated snapshots read or refused within a second per megabyte and three times their size",
    seconds: 30,
    round: (seed) => {
      const sizes = ["--small", String(FUZZ_SMALL), "--large", String(FUZZ_LARGE), "--seed", String(seed)];
      return programRound(
        [process.execPath, "--import", "tsx", "scripts/fuzz-snapshot.ts", ...sizes],
        FUZZ_SMALL + FUZZ_LARGE,
      );
    },
  },
  {
    name: "rings",
    unit: "drains of a probe's ring that is written without a pause, by both readers: no torn header, no torn record",
    seconds: 240,
    round: ringRound,
  },
  {
    name: "markdown",
    unit: "hostile texts rendered by GitHub's parser: nothing escapes",
    seconds: 20,
    round: (seed) =>
      testRound(seed, {
        files: ["test/action/attacks/fuzz.test.ts"],
        tries: 120,
        env: { STORMLOG_TEST_ATTACK_TRIES: "120" },
      }),
  },
  {
    name: "properties",
    unit: "properties of the units, each with 100 draws or as many as it says",
    seconds: 25,
    round: propertyRound,
  },
  {
    name: "attribution",
    unit: "leaky and clean Node programs: the right line, or none",
    seconds: 20,
    round: (seed) => testRound(seed, { files: ["test/attribution/node-leaks.test.ts"], tries: 1 }),
  },
  {
    name: "torch-lines",
    unit: "leaks of PyTorch programs: the right line first, with its pattern",
    seconds: 150,
    round: (seed) =>
      testRound(seed, {
        files: ["test/attribution/torch-leaks.test.ts"],
        env: { STORMLOG_TEST_TORCH_LEAKS: "all" },
      }),
  },
  {
    name: "peak-lines",
    unit: "pairs of programs of which one has a higher peak: its line and category first, within 2 %; of equal ones: no line",
    seconds: 40,
    round: (seed) =>
      testRound(seed, {
        files: ["test/attribution/peak-lines.test.ts"],
        env: { STORMLOG_TEST_PEAK_TWINS: "all" },
      }),
  },
  {
    name: "caches",
    unit: "caches of 4 to 10 MiB that fill during a whole run of 10 s: not red without a baseline",
    seconds: 420,
    round: (seed) =>
      testRound(seed, {
        files: ["test/attribution/clean.test.ts"],
        only: "is not failed as a leak",
        env: { STORMLOG_TEST_FILLING_CACHES: "all" },
      }),
  },
  {
    name: "lines",
    unit: "programs that do not leak, drawn from the corpus, with attribution always on: no line named, not red, no run broken",
    seconds: 120,
    round: (seed) =>
      testRound(seed, {
        files: ["test/attribution/clean.test.ts"],
        only: "names no line",
        env: { STORMLOG_TEST_CLEAN_PROGRAMS: String(DRAWN_PROGRAMS) },
      }),
  },
];
