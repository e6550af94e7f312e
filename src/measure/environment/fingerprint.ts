import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Command } from "../../core/process/command.ts";
import { hideSecrets } from "../../core/process/hide-secrets.ts";
import { oneLine } from "../../core/text.ts";
import { DEVICE_BACKENDS, type DeviceReport, vendorOf } from "../../sampler/sampler.ts";
import type { Isolation } from "../../telemetry/recording/isolation.ts";
import type { Fingerprint, MEMORY_SETTINGS } from "../../telemetry/recording/model.ts";

interface FingerprintInputs {
  readonly devices: readonly DeviceReport[];
  /** Environment of the measured command. */
  readonly env: Readonly<Record<string, string>>;
  readonly worldSize: number;
  /** Canonical text of the scenario's definition; null for a command given on the spot. */
  readonly scenarioDefinition: string | null;
  /** The command as declared, from {@link declaredCommand}. */
  readonly command: string;
  /** Programs of the command that are not measured; absent = none. */
  readonly ignore?: readonly string[] | undefined;
  /** What keeps the command from the gate; absent = nothing. */
  readonly isolation?: Isolation["got"] | undefined;
}

/** The one value all devices share, or every different one; null where none is known. */
export function common(values: readonly (string | null)[]): string | null {
  const known = [...new Set(values.filter((value) => value !== null))].sort();
  return known.length === 0 ? null : known.join(", ");
}

/** The same of sizes in bytes: a number where all devices share it. */
export function commonSize(sizes: readonly (number | null)[]): string | number | null {
  const text = common(sizes.map((bytes) => (bytes === null ? null : String(bytes))));
  return text !== null && /^\d+$/.test(text) ? Number(text) : text;
}

/** Allocator variables of the command in one line; "default" when none is set. */
export function allocatorSettings(env: Readonly<Record<string, string>>): string {
  const set = Object.keys(env)
    .filter((name) => /^(PYTORCH_(CUDA_|HIP_)?ALLOC_CONF|PYTORCH_NO_CUDA_MEMORY_CACHING|MALLOC_\w+)$/.test(name))
    .filter((name) => env[name] !== "")
    .sort();
  return set.length === 0 ? "default" : set.map((name) => `${name}=${env[name]}`).join("; ");
}

/** Short name of a scenario's definition: the first 64 bits of its SHA-256. */
export function definitionHash(definition: string | null): string | null {
  return definition === null ? null : createHash("sha256").update(definition).digest("hex").slice(0, 16);
}

/** Maximum length of a command in a fingerprint, which a baseline record of limited size contains. */
const MAX_COMMAND = 240;

const INTERPRETER = /^(?:python|pypy|node|ruby|perl|bash|sh|java)[\d.]*$/;

/** A path with each match of `prefix` at the start of a word replaced. */
function withoutPrefix(text: string, prefix: string, by: string): string {
  if (prefix === "" || prefix === "/") return text;
  const escaped = prefix.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`(^|[\\s=:'"])${escaped}(?:/+|(?=[\\s'"]|$))`, "g"), `$1${by}`);
}

/**
 * The command as its author declared it, on one line, for a comparison with the baseline's: without secrets, and
 * without what differs from machine to machine and says nothing about the work (the directory of the interpreter and of
 * the checkout, names of temporary directories).
 */
export function declaredCommand(command: Command, cwd: string): string {
  const words = command.kind === "shell" ? [command.script] : command.argv;
  const [first = "", ...rest] = hideSecrets(words).map((word) => {
    const inside = withoutPrefix(word, cwd, "");
    const temporary = withoutPrefix(withoutPrefix(inside, os.tmpdir(), "$TMPDIR/"), "/tmp", "$TMPDIR/");
    return temporary.replace(/(\$TMPDIR\/)tmp[.\w-]+/g, "$1…");
  });
  const [program = "", ...others] = command.kind === "shell" ? first.split(" ") : [first];
  const name = path.basename(program);
  const start = path.isAbsolute(program) || INTERPRETER.test(name) ? name : program;
  const tail = command.kind === "shell" ? others : rest.map((word) => (/\s|^$/.test(word) ? `'${word}'` : word));
  const text = oneLine([start, ...tail].join(" ")).trim();
  if (text.length <= MAX_COMMAND) return text;
  // Two long commands that differ at their end must still differ.
  return `${text.slice(0, MAX_COMMAND)}… (${definitionHash(text)})`;
}

async function textOf(file: string): Promise<string | null> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    return null;
  }
}

async function cudaVersion(env: Readonly<Record<string, string>>): Promise<string | null> {
  const text = await textOf(path.join(env.CUDA_HOME ?? "/usr/local/cuda", "version.json"));
  return (text === null ? null : /"cuda"\s*:\s*{[^}]*"version"\s*:\s*"([^"]+)"/.exec(text)?.[1]) ?? null;
}

async function osName(): Promise<string> {
  const text = await textOf("/etc/os-release");
  return (text === null ? null : /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(text)?.[1]) ?? `${os.type()} ${os.release()}`;
}

/** The smallest memory limit of this process's control group and those around it, bytes; null where none is read. */
async function memoryLimit(): Promise<number | "none" | null> {
  const groups = (await textOf("/proc/self/cgroup")) ?? "";
  const [, at = null] = /^0::(.*)$/m.exec(groups) ?? [];
  const [, before = null] = /^\d+:(?:[\w,]*,)?memory(?:,[\w,]*)?:(.*)$/m.exec(groups) ?? [];
  const [root, file, group] =
    before === null ? ["/sys/fs/cgroup", "memory.max", at] : ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", before];
  const read: string[] = [];
  for (let now = group ?? "/"; ; now = path.dirname(now)) {
    const limit = await textOf(path.join(root, now, file));
    if (limit !== null) read.push(limit);
    if (now === "/" || now === ".") break;
  }
  if (read.length === 0) return null;
  // "max", or in version 1 the largest number of pages.
  const least = Math.min(...read.map((text) => (text === "max" ? Number.POSITIVE_INFINITY : Number(text))));
  return least < os.totalmem() ? least : "none";
}

/** What replaces or sets the C heap and that of Python; "default" when nothing does. */
function allocator(env: Readonly<Record<string, string>>): string {
  const libraries = (env.LD_PRELOAD ?? "").split(/[\s:]+/).map((file) => path.basename(file));
  const preloaded = libraries.filter((name) => name !== "" && !name.startsWith("libstormlog_"));
  const set = ["GLIBC_TUNABLES", "PYTHONMALLOC"].flatMap((name) => (env[name] ? [`${name}=${env[name]}`] : []));
  return [...preloaded, ...set].join("; ") || "default";
}

/** What decides how much the same program holds, beside its code and that of its runtime. */
async function memorySettings({
  env,
  ignore,
}: FingerprintInputs): Promise<Record<(typeof MEMORY_SETTINGS)[number], string | number | null>> {
  const pages = await textOf("/sys/kernel/mm/transparent_hugepage/enabled");
  const swap = /^SwapTotal:\s+(\d+) kB$/m.exec((await textOf("/proc/meminfo")) ?? "")?.[1];
  return {
    transparent_hugepages: /\[(\w+)\]/.exec(pages ?? "")?.[1] ?? null,
    memory_limit_bytes: await memoryLimit(),
    swap_bytes: swap === undefined ? null : Number(swap) * 1024,
    allocator: allocator(env),
    not_measured: ignore?.join(", ") ?? "nothing",
  };
}

/** The image of the job: from the variable of the container, otherwise that of the hosted runner. */
function image(env: Readonly<Record<string, string>>): string | null {
  if (env.STORMLOG_GATE_IMAGE) return env.STORMLOG_GATE_IMAGE;
  return env.ImageOS && env.ImageVersion ? `${env.ImageOS} ${env.ImageVersion}` : null;
}

/** The backend of each vendor's devices, most significant first for a machine with several. */
const BACKENDS = { nvml: "cuda", amd: "rocm", intel: "xpu", apple: "mps" } as const;

/** The devices that identify a machine: instances rather than their GPU, and no integrated graphics except Apple's. */
function identifyingDevices(devices: readonly DeviceReport[]): readonly DeviceReport[] {
  const split = new Set(devices.map(({ parent }) => parent ?? null));
  return devices.filter((device) => {
    const vendor = vendorOf(device);
    return !split.has(device.index) && !(device.unified === true && (vendor === "amd" || vendor === "intel"));
  });
}

function backendOf(devices: readonly DeviceReport[]): string {
  const vendors = new Set(devices.map(vendorOf));
  const first = DEVICE_BACKENDS.find((vendor) => vendors.has(vendor));
  return first === undefined ? "cpu" : BACKENDS[first];
}

/** The profile of an instance: from its driver, otherwise from its name. */
export const migProfileOf = ({ mig_profile: profile, model }: DeviceReport): string | null =>
  profile ?? /\bMIG (\S+)/.exec(model ?? "")?.[1] ?? null;

/** The environment a recording was made in, flat. Unknown is null. The comparison decides which fields matter. */
export async function collectFingerprint(inputs: FingerprintInputs): Promise<Fingerprint> {
  const { env } = inputs;
  const devices = identifyingDevices(inputs.devices);
  return {
    backend: backendOf(devices),
    device_model: common(devices.map(({ model }) => model)),
    device_memory_bytes: commonSize(devices.map(({ total_bytes }) => total_bytes)),
    mig_profile: common(devices.map(migProfileOf)),
    world_size: inputs.worldSize,
    // Known only to a probe inside the measured process, as is the version of Python.
    framework: null,
    framework_version: null,
    allocator_settings: allocatorSettings(env),
    scenario_definition: definitionHash(inputs.scenarioDefinition),
    command: inputs.command,
    driver: common(devices.map(({ driver }) => driver)),
    cuda: await cudaVersion(env),
    rocm: await textOf("/opt/rocm/.info/version"),
    kernel: os.release(),
    container_image: image(env),
    cpu: os.cpus()[0]?.model.trim() || null,
    python: null,
    os: await osName(),
    isolation: inputs.isolation ?? "off",
    ...(await memorySettings(inputs)),
  };
}
