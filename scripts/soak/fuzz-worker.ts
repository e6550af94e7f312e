// Mutates files and reads them, in one process, and reports every batch: an end without a report is a hang or a crash.
import { GateError } from "../../src/core/errors.ts";
import { type Chance, chance, mutated } from "../../src/snapshot/testing/mutate.ts";
import { openReaders, type Reader } from "./fuzz-readers.ts";

const BATCH = 256;
const MAX_BYTES = 64 * 1024;
const MAX_CPU_US = 10_000_000;
const MAX_RSS = 2 ** 30;
/** Values that a document's number, text or list is replaced by. */
const HOSTILE: readonly unknown[] = [
  -1,
  0,
  1e8,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e300,
  -1e300,
  0.1,
  null,
  true,
  "",
  "\u202e",
  "__proto__",
  "A".repeat(5000),
  [],
  {},
  [[[[[[]]]]]],
  { constructor: 1 },
];

const [count, seed] = process.argv.slice(2).map(Number) as [number, number];

function replaceIn(text: string, random: Chance): string {
  const document: unknown = JSON.parse(text);
  let node = document as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(node);
    const key = keys[random(keys.length)];
    if (key === undefined) break;
    const child = node[key];
    if (typeof child === "object" && child !== null && Object.keys(child).length > 0 && random(8) > 0) {
      node = child as Record<string, unknown>;
      continue;
    }
    node[key] = HOSTILE[random(HOSTILE.length)];
    break;
  }
  return JSON.stringify(document);
}

/** One value of a JSON document replaced, or of one document of several lines. */
function replaced(bytes: Uint8Array, random: Chance): Uint8Array {
  const text = Buffer.from(bytes).toString("utf8");
  const lines = text.startsWith('{"schema_version"') ? text.trimEnd().split("\n") : [text];
  const at = random(lines.length);
  return new TextEncoder().encode(lines.map((one, i) => (i === at ? replaceIn(one, random) : one)).join("\n"));
}

function inputOf(reader: Reader, random: Chance): Uint8Array {
  const original = reader.corpus[random(reader.corpus.length)] ?? new Uint8Array();
  // "{" begins a document.
  if (original[0] === 0x7b && random(2) === 0) return replaced(original, random);
  return mutated(reader.corpus, random).subarray(0, MAX_BYTES);
}

async function outcome(reader: Reader, bytes: Uint8Array): Promise<string | null> {
  const before = process.cpuUsage();
  try {
    await reader.read(bytes);
  } catch (error) {
    if (!(error instanceof GateError)) return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system > MAX_CPU_US ? `took ${(user + system) / 1e6} s` : null;
}

const { readers, close } = await openReaders();
const wheel = readers.flatMap((reader) => Array.from({ length: reader.share }, () => reader));
const random = chance(seed);
let [text, done] = [0, 0];
try {
  while (done < count) {
    const reader = wheel[random(wheel.length)];
    if (reader === undefined) throw new Error("no readers");
    const bytes = inputOf(reader, random);
    const fault = await outcome(reader, bytes);
    const large = process.memoryUsage.rss() > MAX_RSS ? `${process.memoryUsage.rss()} bytes resident` : null;
    done += 1;
    if (reader.text) text += 1;
    if (fault !== null || large !== null) {
      const input = Buffer.from(bytes).toString("base64");
      process.send?.({ kind: "fault", reader: reader.name, fault: fault ?? large, at: done, input });
      if (large !== null) break;
    }
    if (done % BATCH === 0 || done === count) process.send?.({ kind: "beat", done, text });
  }
} finally {
  close();
}
process.disconnect?.();
