import { MAX_FRAMES, type OomFrame } from "../recording/out-of-memory.ts";
import type { ProbeOom } from "../recording/probe-record.ts";

const PYTHON_START = /Traceback \(most recent call last\):\s*$/;
const PYTHON_FRAME =
  /^(?<indent>.{0,80}?\s{2})File "(?<file>[^"]{1,1000})", line (?<line>\d{1,9})(?:, in (?<name>.{1,200}))?$/;
const V8_FRAME = /^\s{4}at (?:(?:async )?(?<name>[^(]{1,200}) \()?(?<file>[^()]{1,1000}?):(?<line>\d{1,9}):\d{1,9}\)?$/;
const JAVA_FRAME = /^\s{0,8}at (?<name>[\w.$<>/]{1,300})\((?<file>[\w$]{1,200}\.(?:java|kt|scala)):(?<line>\d{1,9})\)$/;

/** Maximum distance of the stack from the message, lines. */
const REACH = 400;

function frame(match: RegExpExecArray, name: string | undefined, code = ""): OomFrame {
  return {
    file: match.groups?.file ?? "",
    line: Number(match.groups?.line ?? 0),
    function: name ?? match.groups?.name ?? "",
    code,
  };
}

/** A Python traceback, anywhere in the text; innermost call first. */
export function pythonStack(lines: readonly string[]): OomFrame[] {
  const frames: OomFrame[] = [];
  for (const [i, line] of lines.entries()) {
    if (PYTHON_START.test(line)) frames.length = 0;
    const match = PYTHON_FRAME.exec(line);
    if (match === null) continue;
    const indent = match.groups?.indent ?? "  ";
    const next = lines[i + 1] ?? "";
    const code = next.startsWith(`${indent}  `) && !PYTHON_FRAME.test(next) ? next.slice(indent.length).trim() : "";
    frames.push(frame(match, undefined, code.slice(0, 400)));
  }
  return frames.reverse().slice(0, MAX_FRAMES);
}

/** Frames after the error's line, in the format of V8, HotSpot and Go; innermost call first. */
function followingStack(lines: readonly string[]): OomFrame[] {
  const frames: OomFrame[] = [];
  for (const [i, line] of lines.entries()) {
    const v8 = V8_FRAME.exec(line) ?? JAVA_FRAME.exec(line);
    if (v8 !== null) frames.push(frame(v8, undefined));
    const go = /^\t(?<file>\/?[^\t:]{1,1000}\.go):(?<line>\d{1,9})(?: \+0x[0-9a-f]+)?/.exec(line);
    if (go !== null) frames.push(frame(go, /^[^\s(]+/.exec(lines[i - 1] ?? "")?.[0]));
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}

/** Stack of the error on line `at`: a Python traceback above it, or another runtime's frames below. Empty without. */
export function stackAround(text: string, at: number): OomFrame[] {
  const lines = text.split("\n");
  const above = lines.slice(Math.max(0, at - REACH), at);
  const start = above.findLastIndex((line) => PYTHON_START.test(line));
  if (start >= 0) {
    const stack = pythonStack(above.slice(start));
    // Plain output between a traceback and the message means that the traceback belongs to another error.
    if (stack.length > 0 && above.slice(start + 1).every((line) => isStackLine(line))) return stack;
  }
  return followingStack(lines.slice(at + 1, at + 1 + REACH));
}

/** Text of the traceback that ends at line `at`, for a separate file; null without one. */
export function tracebackText(text: string, at: number): string | null {
  const lines = text.split("\n");
  const from = Math.max(0, at - REACH);
  const start = lines.slice(from, at).findLastIndex((line) => PYTHON_START.test(line));
  return start < 0 ? null : `${lines.slice(from + start, at + 1).join("\n")}\n`;
}

/** A probe's complete traceback, with its first line and the error's line, which are not recorded frames. */
export function recordedTraceback({ traceback, exception, message }: ProbeOom): string {
  const frames = (traceback ?? "").trimEnd();
  const head = PYTHON_START.test(frames.split("\n", 1)[0] ?? "") ? "" : "Traceback (most recent call last):\n";
  const error = [exception, message].filter((part) => part !== null).join(": ");
  return `${head}${frames}\n${error === "" ? "" : `${error}\n`}`;
}

function isStackLine(line: string): boolean {
  return line.trim() === "" || /^(?:.{0,80}?)\s{2}\S/.test(line) || /^\s/.test(line);
}
