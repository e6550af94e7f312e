import type { Command } from "../core/process/command.ts";
import { KIB } from "../core/units.ts";

/** Memory allocated next to a command while it runs, bytes. */
export interface Injection {
  /** All of it from the start (a higher peak), or in equal pieces over `seconds` (growth). */
  readonly shape: "peak" | "growth";
  readonly bytes: number;
  /** Time until all pieces are allocated; unused for a peak. */
  readonly seconds: number;
}

/** Pieces of a growth: enough for a slope, and few enough that their processes do not matter for the size. */
const PIECES = 16;

/** Anonymous memory of the process of one piece, bytes: measured with the coreutils of Debian 12. */
const HOLDER_BYTES = 112 * KIB;

/** Smallest piece that is larger than its process. */
const MIN_PIECE_BYTES = 256 * KIB;

/**
 * The script around the command. A piece of memory is the buffer of a `dd` that has filled it and cannot write it: its
 * pipe is open and hardly read. The shell has the only reading end, so that every `dd` ends with the shell. A peak is
 * held before the command starts, which the first byte in the pipe shows: a short command would else end before it.
 * Neither the environment nor the open files of the command change.
 */
const SCRIPT = `chunk=$1; count=$2; pause=$3; shift 3
dir=$(mktemp -d) || exit 125
mkfifo "$dir/pipe" || exit 125
exec 9<>"$dir/pipe"
(
  exec 9<&-
  i=0
  while [ "$i" -lt "$count" ] && [ -p "$dir/pipe" ]; do
    dd if=/dev/zero of="$dir/pipe" bs="$chunk" count=1 2>/dev/null &
    i=$((i + 1))
    [ "$i" -lt "$count" ] && sleep "$pause"
  done
) >/dev/null 2>&1 &
feeder=$!
[ "$count" -eq 1 ] && timeout 10 dd bs=1 count=1 <&9 >/dev/null 2>&1
"$@" 9<&-
status=$?
rm -r "$dir"
kill "$feeder" 2>/dev/null
exit "$status"
`;

function pieces(injection: Injection): { readonly chunk: number; readonly count: number; readonly pauseS: number } {
  const most = Math.max(1, Math.floor(injection.bytes / MIN_PIECE_BYTES));
  const count = injection.shape === "peak" ? 1 : Math.min(PIECES, most);
  const chunk = Math.max(4 * KIB, Math.round(injection.bytes / count) - HOLDER_BYTES);
  return { chunk, count, pauseS: count === 1 ? 0 : injection.seconds / count };
}

/** The command with memory allocated next to it in counted processes. Needs a POSIX shell, `mkfifo` and `dd`. */
export function withInjection(command: Command, injection: Injection): Command {
  const { chunk, count, pauseS } = pieces(injection);
  const inner = command.kind === "argv" ? command.argv : ["sh", "-c", command.script];
  return {
    kind: "argv",
    argv: ["sh", "-c", SCRIPT, "stormlog-injection", String(chunk), String(count), pauseS.toFixed(3), ...inner],
  };
}
