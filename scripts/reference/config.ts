import { toJsonSchema } from "@valibot/to-json-schema";
import { RUN_OPTION_ENTRIES } from "../../src/config/run-options.ts";
import { ConfigSchema } from "../../src/config/schema.ts";

/** What the generated JSON Schema of the config file consists of. */
interface Node {
  readonly type?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly propertyNames?: Node;
  readonly additionalProperties?: Node | false;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** Meanings of the keys that are not options of `run` under the same name, by their path. */
const MEANINGS: Readonly<Record<string, string>> = {
  schema: "Version of the file",
  "scenarios[].name": "Name of the scenario, which its baseline is stored under",
  "scenarios[].run":
    "The command, unless there is a `service`: text for `sh -c`, or a list that is started without a shell",
  "scenarios[].service.start":
    "In place of `run`: the command of a [service](services.md), which the gate stops. `{PORT}` stands for a free port in every text of the service",
  "scenarios[].service.ready": "Sign that it takes requests: a URL, a port, or a text that it prints",
  "scenarios[].service.load":
    "What sends the requests of a cycle: a command, or `{ url, method, headers, body, concurrency, rate }`",
  "scenarios[].service.requests":
    "Requests of a cycle; for a command, the text around their number in its output, with `(\\d+)` in its place",
  "scenarios[].service.rest": "Time without load after each cycle, at whose end the memory is judged",
  "scenarios[].service.cycles": "Number of cycles; `auto` stops when they decide",
  "scenarios[].service.reset": "Command before each rest",
  "scenarios[].service.stop": "Signal that ends the service",
  "scenarios[].cwd": "Working directory, relative to this file",
  "scenarios[].env": "Variables of the command",
  "scenarios[].budget": "Absolute limits on peaks, such as `{ host: 2GiB }`",
  "scenarios[].ignore":
    "Programs that are not measured, with all that they start: a load generator. The name as `show --processes` prints it; whatever runs under it is left out",
  "policy.gating": "Metrics that can fail the gate ([the default](how-verdicts-are-made.md#which-checks-there-are))",
  "policy.gating-phases": "[Phases](probe.md#phases) that are judged like the run",
  "policy.known-leaks[].package": "[Known leak](approval.md#a-leak-in-a-dependency): the installed package",
  "policy.known-leaks[].versions": "Its versions that leak",
  "policy.known-leaks[].at": "The line (`load.py:12`) or function where memory grows",
  "policy.known-leaks[].limit": "Maximum growth of the whole run, such as `64KiB/step` or `2MiB/s`",
  "policy.known-leaks[].until": "Last day of the entry, UTC, such as `2027-01-31`",
  "policy.known-leaks[].reason": "Why it cannot be upgraded, for the report",
  "policy.scaling.max-exponent": "With `--vary`: maximum k of [a + b · x^k](scaling.md)",
  "policy.scaling.max-b": "With `--vary`: maximum b",
  "policy.relative-margin-percent": "Part of the baseline's median that a peak may rise",
  "report.csv": "Also write `events.csv` of each run",
};

const DEFAULTS: Readonly<Record<string, string>> = {
  "policy.relative-margin-percent": "0.5",
  "policy.gating": "see there",
  "policy.unjudged": "`fail`, in the Action `warn`",
  baseline: "`file:baselines`, in the Action [two](github-action.md#inputs)",
  "report.csv": "`false`",
  "scenarios[].service.requests": "2000 in at most 10 s",
  "scenarios[].service.rest": "`5s`",
  "scenarios[].service.cycles": "`auto`",
  "scenarios[].service.stop": "`SIGTERM`",
};

const RUN = new Map<string, (typeof RUN_OPTION_ENTRIES)[number][1]>(RUN_OPTION_ENTRIES);

/** "text", "number above 0, at most 6", "list of …": what a value may be. */
function allowedValue(node: Node): string {
  if (node.const !== undefined) return `\`${node.const}\``;
  if (node.enum !== undefined) return node.enum.map((one) => `\`${one}\``).join(", ");
  if (node.anyOf !== undefined) {
    const [first, second] = node.anyOf;
    const isSize = node.anyOf.length === 2 && first?.type === "string" && second?.minimum === 0;
    return isSize ? "size" : node.anyOf.map(allowedValue).join(" or ");
  }
  if (node.type === "array") return `list of ${plural(node.items)}${upTo(node.maxItems)}`;
  if (node.type === "object") {
    if (node.properties !== undefined) return "mapping";
    const { propertyNames, additionalProperties } = node;
    const values =
      additionalProperties === false || additionalProperties === undefined ? "" : allowedValue(additionalProperties);
    return `${propertyNames?.enum === undefined ? "name" : "[metric](metrics.md)"}: ${values}`;
  }
  if (node.type === "string")
    return `text${node.maxLength === undefined ? "" : ` of at most ${node.maxLength} characters`}`;
  if (node.type === "boolean") return "`true` or `false`";
  const { minimum, exclusiveMinimum, maximum } = node;
  const from = exclusiveMinimum === undefined ? minimum : exclusiveMinimum;
  const lower = from === undefined ? "" : exclusiveMinimum === undefined ? ` from ${from}` : ` above ${from}`;
  return `${node.type ?? "value"}${lower}${upTo(maximum)}`;
}

const upTo = (most: number | undefined): string => (most === undefined ? "" : `, at most ${most}`);
const plural = (node: Node = {}): string =>
  node.enum !== undefined ? "[metrics](metrics.md)" : allowedValue(node).replace(/^text/, "texts");

/** Every key by its path, in the order of the file. */
function keysOf(node: Node, at = ""): readonly (readonly [path: string, node: Node, isRequired: boolean])[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const own = `${at}${key}`;
    if (child.properties !== undefined) return keysOf(child, `${own}.`);
    if (child.items?.properties !== undefined) return keysOf(child.items, `${own}[].`);
    return [[own, child, node.required?.includes(key) ?? false] as const];
  });
}

/** The keys of `stormlog-gate.yml` as a table. @throws where a key has no meaning, or a meaning no key */
export function configTable(): string {
  const keys = keysOf(toJsonSchema(ConfigSchema, { errorMode: "ignore" }) as Node);
  const paths = new Set(keys.map(([path]) => path));
  const stale = [...Object.keys(MEANINGS), ...Object.keys(DEFAULTS)].filter((path) => !paths.has(path));
  if (stale.length > 0) throw new Error(`the config file has no ${stale.join(", ")}`);
  const rows = keys.map(([path, node, isRequired]) => {
    const option = RUN.get(path.replace(/^.*\./, ""));
    const meaning = MEANINGS[path] ?? option?.description;
    if (meaning === undefined) throw new Error(`scripts/reference/config.ts has no meaning of ${path}`);
    const standard = isRequired
      ? "required"
      : (DEFAULTS[path] ?? (path in MEANINGS ? undefined : option?.default) ?? "–");
    return `| \`${path}\` | ${allowedValue(node)} | ${standard} | ${meaning}. |\n`;
  });
  return `| key | value | default | meaning |\n|---|---|---|---|\n${rows.join("")}`;
}
