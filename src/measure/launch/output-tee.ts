import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../core/errors.ts";

type Sink = ((chunk: Uint8Array) => void) | null;

/** Passes a stream to the log and the caller's sink. It is never paused; a sink that throws is not called again. */
export class OutputTee {
  readonly #stream: Readable;
  readonly #finished: Promise<void>;
  /** Why the caller's sink is not called any more; null while it is. */
  sinkError: string | null = null;

  constructor(stream: Readable, log: (chunk: Uint8Array) => void, sink: Sink) {
    this.#stream = stream;
    let live = sink;
    stream.on("data", (chunk: Buffer) => {
      log(chunk);
      try {
        live?.(chunk);
      } catch (error) {
        live = null;
        this.sinkError = messageOf(error);
      }
    });
    this.#finished = new Promise((resolve) => stream.once("close", () => resolve()));
    stream.once("end", () => stream.destroy());
  }

  /** Read the rest, and close the stream. @returns false when a process kept its other end open */
  async finish(): Promise<boolean> {
    // Once all writers ended, the rest of the pipe arrives at once; a process that keeps it open longer is not ours.
    const drained = await Promise.race([this.#finished.then(() => true), sleep(500, false)]);
    this.#stream.destroy();
    return drained;
  }
}
