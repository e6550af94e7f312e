import { closeSync, fstatSync, readdirSync, readSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, messageOf } from "../../core/errors.ts";
import { makeDirectories, openRegular, readTail } from "../../core/files.ts";
import { plural } from "../../core/text.ts";
import { MIB } from "../../core/units.ts";
import { HEADER_BYTES, RECORD_BYTES } from "../../sampler/record-layout.ts";
import { RECENT_ENDING, recentRecords } from "../../telemetry/reading/recent-records.ts";
import type { RecordingInfo } from "../../telemetry/recording/model.ts";
import { OUTPUT_FILE, PROBE_FOLDER, RAW_RECORD_FILE } from "../../telemetry/recording/run-files.ts";
import { encodeSegment, type Segment, segmentName } from "./segment.ts";

/** With the sampler's own delay of 150 ms and a slow write, less than two seconds are lost. */
const PERIOD_MS = 1000;
const MAX_RECORD_BYTES = 16 * MIB - ((16 * MIB) % RECORD_BYTES);
const MAX_FILE_BYTES = 64 * 1024;
const MAX_FILES = 256;
/** The gate waits this long for a directory that does not answer. */
const MAX_WAIT_MS = 10_000;

/** What is known of a run by now. */
interface RunState extends Pick<Segment, "programs"> {
  readonly info: RecordingInfo;
}

/**
 * Writes what a run leaves into a directory that outlives the machine, as numbered segments. The command does not wait
 * for it. What the directory refuses goes into the next segment.
 */
export class EvidenceStream {
  readonly #directory: string;
  readonly #run: string;
  #state: () => RunState = () => ({ info: {} as RecordingInfo, programs: [] });
  #fd: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | null = null;
  #number = 0;
  #failed = 0;
  #error: string | null = null;
  /** Bytes of the record file, and number of held records, that are in segments. */
  #sent = { records: HEADER_BYTES, held: 0 };

  /** @param directory of the segments, to be made  @param run directory of the run */
  constructor(directory: string, run: string) {
    this.#directory = directory;
    this.#run = run;
  }

  /** Begins once the sampler's file exists, before the command could replace it. */
  start(state: () => RunState): void {
    this.#state = state;
    this.#fd = openRegular(path.join(this.#run, RAW_RECORD_FILE), "refuse").fd;
    this.#begin();
    this.#timer = setInterval(() => this.#begin(), PERIOD_MS).unref();
  }

  /** Writes what the stopped sampler left. No more segments are written by themselves. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const last = async () => {
      await this.#writing;
      await this.#begin();
    };
    await Promise.race([last(), sleep(MAX_WAIT_MS, null, { ref: false })]);
  }

  /** Writes the last segment. @returns a note where evidence is missing, else null */
  async end(info: RecordingInfo): Promise<string | null> {
    const { programs } = this.#state();
    this.#state = () => ({ info, programs });
    await this.stop();
    const error = this.#writing === null ? this.#error : "no answer";
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    const lost = `${this.#failed} of ${plural(this.#number, "segment")}`;
    return error === null ? null : `STREAM_WRITE_FAILED: ${error}: ${lost} not written to ${this.#directory}`;
  }

  #begin(): Promise<void> | null {
    // One at a time: what comes meanwhile goes into the next.
    if (this.#fd !== null && this.#writing === null) {
      this.#writing = this.#write(this.#fd).finally(() => {
        this.#writing = null;
      });
    }
    return this.#writing;
  }

  async #write(fd: number): Promise<void> {
    this.#number += 1;
    try {
      const { records: at, held: known } = this.#sent;
      const size = Math.min(fstatSync(fd).size - at, MAX_RECORD_BYTES);
      // Whole records only: the sampler may be in the middle of one.
      const records = readAt(fd, at, Math.max(0, size - (size % RECORD_BYTES)));
      const { first, bytes } = recentRecords(path.join(this.#run, `${RAW_RECORD_FILE}${RECENT_ENDING}`));
      const held = bytes.subarray(Math.max(0, known - first) * RECORD_BYTES);
      const heldAt = Math.max(first, known);
      const segment = encodeSegment({
        ...this.#state(),
        header: readAt(fd, 0, HEADER_BYTES).toString("base64"),
        records: { at, bytes: records.toString("base64") },
        held: { at: heldAt, bytes: held.toString("base64") },
        files: this.#files(),
      });
      if (this.#number === this.#failed + 1) makeDirectories(this.#directory);
      await writeFile(path.join(this.#directory, segmentName(this.#number)), segment, { flag: "wx" });
      this.#sent = { records: at + records.length, held: heldAt + held.length / RECORD_BYTES };
    } catch (error) {
      this.#failed += 1;
      this.#error = codeOf(error) ?? messageOf(error);
    }
  }

  /** The end of the output, and what the probes know that is not in the samples. */
  #files(): Record<string, string> {
    const files: Record<string, string> = {};
    const add = (name: string): void => {
      files[name] = readTail(path.join(this.#run, name), MAX_FILE_BYTES, "refuse").toString("base64");
    };
    try {
      add(OUTPUT_FILE);
      const names = readdirSync(path.join(this.#run, PROBE_FOLDER)).filter((name) => /\.(info|oom\.\d+)$/.test(name));
      for (const name of names.slice(0, MAX_FILES)) add(`${PROBE_FOLDER}/${name}`);
    } catch {
      // The command may remove or replace its own files at any time.
    }
    return files;
  }
}

function readAt(fd: number, at: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  return bytes.subarray(0, readSync(fd, bytes, 0, size, at));
}
