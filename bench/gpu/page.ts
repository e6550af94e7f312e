/**
 * The section of docs/evidence.md on measurements on GPUs, generated from the documents in docs/evidence alone.
 * Usage: node bench/gpu/page.ts writes it into the page.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Evidence, type Part, results, SCHEMA } from "./evidence.ts";
import { at, list } from "./reports.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PAGE = path.join(ROOT, "docs", "evidence.md");
const EVIDENCE = path.join(ROOT, "docs", "evidence");
const BEGIN = "<!-- gpus: begin, written by bench/gpu/page.ts from docs/evidence -->";
const END = "<!-- gpus: end -->";

interface Question {
  readonly part: Part;
  readonly asks: string;
  /** In one line, or null when the document does not contain it. */
  answer(evidence: Evidence): string | null;
}

const number = (value: unknown, digits = 1): string | null =>
  typeof value === "number" ? value.toFixed(digits) : null;
const mib = (value: unknown): string | null =>
  typeof value === "number" ? `${(value / 2 ** 20).toFixed(0)} MiB` : null;

/** Keeps what is known; null when nothing is. */
function join(parts: readonly (string | null)[]): string | null {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : known.join("; ");
}

function result(evidence: Evidence, name: string): unknown {
  const one = evidence.measurements[name];
  return one?.status === "measured" ? one.result : undefined;
}

function interval(found: unknown): string | null {
  const [ratio, low, high] = [number(at(found, "ratio"), 4), number(at(found, "low"), 4), number(at(found, "high"), 4)];
  if (ratio === null) return null;
  return low === null ? `${ratio} (too few for an interval)` : `${ratio} (95 %: ${low} to ${high})`;
}

function arm(name: string): Question["answer"] {
  return (evidence) =>
    join(
      ["small", "large", "churn"].map((workload) => {
        const text = interval(at(evidence.summary, "steps", workload, name));
        return text === null ? null : `${workload} ${text}`;
      }),
    );
}

function call(name: string): Question["answer"] {
  return (evidence) =>
    join(
      [
        ["alone", "nvml/alone"],
        ["during allocations", "nvml/during-allocations"],
      ].map(([when, measurement]) => {
        const found = at(result(evidence, measurement!), "functions", name);
        const middle = number(at(found, "median_us"));
        return middle === null ? null : `${when} ${middle} µs, 99 % below ${number(at(found, "p99_us"))} µs`;
      }),
    );
}

function polled(name: string): Question["answer"] {
  return (evidence) => interval(at(result(evidence, "allocations/polled"), "polls", name, "ratio"));
}

function stages(evidence: Evidence): string | null {
  const found = list(result(evidence, "gap/default"), "stages");
  let before: number | null = null;
  const shares: (string | null)[] = [];
  for (const one of found) {
    const gap = at(one, "gap_process_bytes") ?? at(one, "gap_device_bytes");
    const name = String(at(one, "stage"));
    if (typeof gap !== "number") continue;
    if (["context", "libraries", "communicator"].includes(name)) shares.push(`${name} ${mib(gap - (before ?? 0))}`);
    before = gap;
  }
  return join(shares);
}

function recordedShares(evidence: Evidence): string | null {
  const gap = at(result(evidence, "gap/recorded"), "recorded", 0, "gap");
  return join(
    ["context", "library", "communicator", "later"].map((share) => {
      const bytes = mib(at(gap, `${share}_bytes`));
      return bytes === null ? null : `${share} ${bytes}`;
    }),
  );
}

function patterns(evidence: Evidence): string | null {
  const found = list(evidence.summary, "patterns");
  if (found.length === 0) return null;
  const count = (key: string, value: unknown) => found.filter((one) => at(one, key) === value).length;
  const lines = found.filter((one) => typeof at(one, "first_line") === "string").length;
  const caught = found.filter((one) => at(one, "expected") === "caught");
  const failed = caught.filter((one) => at(one, "leaky_verdict") === "fail").length;
  return join([
    `of ${caught.length} leaks that are visible ${failed} fail`,
    `${count("fixed_verdict", "pass")} of ${found.length} fixed states pass`,
    lines === 0 ? null : `of ${lines} lines named first ${count("first_line_in_leak", true)} lie in the leak`,
  ]);
}

/** One pattern under another allocator: verdict and first line. */
function variants(evidence: Evidence): string | null {
  return join(
    results(evidence, "variant/").map(({ name, result: one }) => {
      const line = at(one, "first_line");
      const where = at(one, "first_line_in_leak") === true ? "in the leak" : "not in the leak";
      const named = typeof line === "string" ? `${path.basename(line)}, ${where}` : "no line";
      return `${name.split("/")[1]}: ${at(one, "verdict")}, ${named}`;
    }),
  );
}

/** The twins of which a fact is true, of those that have it. */
function twins(evidence: Evidence): string | null {
  const found = list(evidence.summary, "twins");
  const right = (key: string): string => {
    const known = found.map((one) => at(one, key)).filter((one) => typeof one === "boolean");
    return `${known.filter(Boolean).length} of ${known.length}`;
  };
  const shares = found.map((one) => at(one, "categories_share")).filter((one) => typeof one === "number");
  if (shares.length === 0) return null;
  // Rounded down: a part is not all of it.
  const least = `${(Math.floor(Math.min(...shares) * 1000) / 10).toFixed(1)} %`;
  return `line right in ${right("first_line_right")}, category in ${right("first_category_right")}; at least ${least}`;
}

const QUESTIONS: readonly Question[] = [
  { part: "costs", asks: "NVML's memory query", answer: call("memory_v2") },
  { part: "costs", asks: "NVML's list of compute processes", answer: call("compute_processes_v2") },
  {
    part: "costs",
    asks: "Duration of a training step under the gate at its default rates, as a ratio to a bare step (limit 1.005)",
    answer: arm("gate"),
  },
  { part: "costs", asks: "The same without the probe", answer: arm("sampler") },
  { part: "costs", asks: "The same with the probe alone", answer: arm("probe") },
  {
    part: "costs",
    asks: "The same while a monitor lists processes 40 times a second, as the gate does not",
    answer: arm("lists"),
  },
  {
    part: "costs",
    asks: "Duration of a device allocation while memory is queried 50 times a second, as a ratio to an undisturbed one",
    answer: polled("memory_50hz"),
  },
  { part: "costs", asks: "The same with a process list once a second", answer: polled("lists_1hz") },
  { part: "costs", asks: "The same with process lists 40 times a second", answer: polled("lists_40hz") },
  { part: "lab", asks: "Device memory of a process outside its allocator", answer: stages },
  { part: "lab", asks: "The same, from the gate's recording of that process", answer: recordedShares },
  {
    part: "lab",
    asks: "The driver's accounting peak minus that, minus `max_memory_reserved` (0 = both exact)",
    answer: (evidence) => {
      const found = at(result(evidence, "gap/default"), "checks", "accounting_less_gap_less_reserved_bytes");
      return typeof found === "number" ? `${found} bytes apart` : null;
    },
  },
  {
    part: "lab",
    asks: "Memory of expandable segments in the driver's count of a process (requested; counted)",
    answer: (evidence) => {
      const checks = at(result(evidence, "gap/expandable_segments"), "checks");
      return (
        mib(at(checks, "process_grew_bytes")) &&
        `${mib(at(checks, "held_bytes"))}; ${mib(at(checks, "process_grew_bytes"))}`
      );
    },
  },
  {
    part: "lab",
    asks: "Memory that another library takes past the allocator, in the gap (taken; seen)",
    answer: (evidence) => {
      const raw = at(result(evidence, "gap/default"), "raw");
      return mib(at(raw, "gap_grew_bytes")) && `${mib(at(raw, "asked_bytes"))}; ${mib(at(raw, "gap_grew_bytes"))}`;
    },
  },
  {
    part: "lab",
    asks: "A snapshot of the allocator with its history: duration (first, last), size, entries",
    answer: (evidence) => {
      const dumps = list(result(evidence, "snapshot"), "taken", "dumps");
      const [first, last] = [dumps.at(0), dumps.at(-1)];
      return (
        mib(at(last, "bytes")) &&
        `${number(at(first, "take_s"), 2)} s, ${number(at(last, "take_s"), 2)} s; ${mib(at(last, "bytes"))}; ${at(last, "trace_entries")}`
      );
    },
  },
  {
    part: "lab",
    asks: "Metrics on request (by the process's own report, by the gate)",
    answer: (evidence) => {
      const found = result(evidence, "requested");
      return join(
        ["fragmentation", "graph_pools", "outside_allocator"].map((metric) => {
          const check = list(found, "checks").find((one) => at(one, "metric") === metric);
          const [own, gate] = [mib(at(found, "expected", metric)), mib(at(check, "candidate_bytes"))];
          return own && `${metric} ${own}, ${gate ?? "not known"}`;
        }),
      );
    },
  },
  { part: "lab", asks: "The leak catalogue at full size", answer: patterns },
  { part: "lab", asks: "One of its leaks under PyTorch's other allocators, without a baseline", answer: variants },
  {
    part: "aa",
    asks: "The same run again: spread of the allocator's peak, false alarms when every draw is judged",
    answer: (evidence) => {
      const peaks = at(evidence.summary, "peaks", "allocated on cuda:0");
      if (typeof at(peaks, "spread_bytes") !== "number") return null;
      return `${at(peaks, "spread_bytes")} bytes over ${at(peaks, "runs")} runs; ${at(evidence.summary, "false_alarms")} of ${at(evidence.summary, "draws")}`;
    },
  },
  {
    part: "oom",
    asks: "Out of memory on the real device: completeness of the evidence",
    answer: (evidence) =>
      join(
        results(evidence, "").map(({ name, result: one }) =>
          one.evidence_complete === true
            ? `${name}: all of it`
            : `${name}: without ${list(one, "evidence_missing").join(", ")}`,
        ),
      ),
  },
  {
    part: "peaks",
    asks: "A higher peak: first line and first category, share of the difference that is explained",
    answer: twins,
  },
  {
    part: "peaks",
    asks: "The largest batch for a size by five smaller ones, against its measured peak",
    answer: (evidence) => {
      const error = at(evidence.summary, "prediction_error");
      return typeof error === "number" ? `${(error * 100).toFixed(1)} % apart` : null;
    },
  },
];

/** Documents of docs/evidence, by file name. */
export function committed(): { readonly file: string; readonly evidence: Evidence }[] {
  if (!existsSync(EVIDENCE)) return [];
  return readdirSync(EVIDENCE)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((file) => ({ file, evidence: JSON.parse(readFileSync(path.join(EVIDENCE, file), "utf8")) as Evidence }))
    .filter(({ evidence }) => evidence.schema === SCHEMA);
}

function render(documents: readonly { readonly file: string; readonly evidence: Evidence }[]): string {
  if (documents.length === 0) return "**Nothing has been measured on hardware yet.**";
  const lines: string[] = [];
  const named = (evidence: Evidence) =>
    `${at(evidence.environment, "gpu")}, driver ${at(evidence.environment, "driver")}, PyTorch ${at(evidence.environment, "torch")}`;
  for (const { file, evidence } of documents)
    lines.push(
      `- [${file}](evidence/${file}): ${named(evidence)}, ${evidence.started.slice(0, 10)}${evidence.complete ? "" : ", not complete"}`,
    );
  lines.push("", "| what | measured | by |", "|---|---|---|");
  for (const { part, asks, answer } of QUESTIONS) {
    const answers = documents.filter(({ evidence }) => evidence.part === part).map(({ evidence }) => answer(evidence));
    const known = answers.filter((one) => one !== null);
    lines.push(`| ${asks} | ${known.length === 0 ? "not yet" : known.join("<br>")} | \`--part ${part}\` |`);
  }
  return lines.join("\n");
}

/** The page with its section replaced. */
export function withEvidence(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has lost its marks`);
  return `${page.slice(0, from + BEGIN.length)}\n${render(committed())}\n${page.slice(to)}`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(PAGE, withEvidence(readFileSync(PAGE, "utf8")));
