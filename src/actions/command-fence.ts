import { randomBytes } from "node:crypto";

/**
 * The measured command is code of the change: a line `::error::…` or `::add-mask::…` it prints would act as ours. While
 * the fence is up the runner reads nothing as a command until it sees a token the child cannot know. Output and errors
 * of the child go to one stream, because the runner reads the two independently and a late line on the other one
 * would slip out after the fence is down.
 */
export interface CommandFence {
  write(chunk: Uint8Array | string): void;
  /** Take the fence down; further writes are dropped. Safe to call twice. */
  close(): void;
}

export function raiseCommandFence(write: (chunk: Uint8Array | string) => void): CommandFence {
  const token = `stormlog-${randomBytes(24).toString("hex")}`;
  let open = true;
  let atLineStart = true;
  write(`::stop-commands::${token}\n`);
  return {
    write(chunk) {
      if (!open || chunk.length === 0) return;
      const last = chunk[chunk.length - 1];
      atLineStart = last === "\n" || last === 10;
      write(chunk);
    },
    close() {
      if (!open) return;
      open = false;
      // The token counts only at the start of a line.
      write(`${atLineStart ? "" : "\n"}::${token}::\n`);
    },
  };
}
