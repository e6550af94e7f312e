import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { codeOf } from "../core/errors.ts";

const HOST = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
const CLAIM = /\.([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{16}\.lock$/;

/** Other writers replaced the record all the time. */
export class NoTurnError extends Error {
  override readonly name = "NoTurnError";
}

/** Another writer took this one for dead and removed its claim: nothing was written. */
export class ClaimLostError extends Error {
  override readonly name = "ClaimLostError";
}

/**
 * The exclusive right to replace one file, and the file that replaces it.
 *
 * A writer creates a claim of a unique name beside the file, then lists the directory. Only when it lists no other
 * claim may it read the file, write the new content into its claim and rename that over the file. A claim that stands
 * in the way is removed if its writer is dead. Removing one is always safe: a rename of a removed claim fails, so a
 * writer that was only slow has written nothing and begins again. Therefore no judgement about a process, and no
 * clock, decides whether an update is lost. Of two writers between their listing and their rename the later listing
 * contained the claim of the other, and removed it or stepped back.
 */
export class RecordClaim {
  readonly #claim: string;
  readonly file: string;
  readonly #handle: FileHandle;

  private constructor(claim: string, file: string, handle: FileHandle) {
    this.#claim = claim;
    this.file = file;
    this.#handle = handle;
  }

  /**
   * @param staleMs a claim that stays longer belongs to a writer that died or stopped: an update takes milliseconds
   * @throws NoTurnError, and the system's error when no claim can be made
   */
  static async of(file: string, staleMs = 10_000): Promise<RecordClaim> {
    const rivals = new Rivals(file, staleMs);
    const until = performance.now() + 30_000;
    for (;;) {
      if ((await rivals.others(null)).length === 0) {
        const name = `${path.basename(file)}.${HOST}-${process.pid}-${randomBytes(8).toString("hex")}.lock`;
        const claim = path.join(path.dirname(file), name);
        const made = new RecordClaim(claim, file, await open(claim, "wx"));
        try {
          if (await made.#isAlone(rivals, name, until)) return made;
        } catch (error) {
          await made.drop();
          throw error;
        }
        await made.drop();
      }
      if (performance.now() > until) throw new NoTurnError();
      await pause(5 + Math.random() * 20);
    }
  }

  /** Waits while this is the first of the claims by name; the others step back, so that one of them goes on. */
  async #isAlone(rivals: Rivals, name: string, until: number): Promise<boolean> {
    for (;;) {
      const others = await rivals.others(name);
      if (others.length === 0) return true;
      if (others.some((other) => other < name) || performance.now() > until) return false;
      await pause(1 + Math.random() * 2);
    }
  }

  /** Replaces the file, after which the claim is gone. @throws ClaimLostError, and the system's error */
  async commit(content: string): Promise<void> {
    await this.#handle.writeFile(content);
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#claim, this.file).catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? new ClaimLostError() : error;
    });
  }

  /** Gives up the claim; nothing happens after {@link commit}. */
  async drop(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#claim, { force: true }).catch(() => {});
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

/** Claims of other writers, as one of them sees them. */
class Rivals {
  readonly #directory: string;
  readonly #prefix: string;
  readonly #staleMs: number;
  /** When each was first seen. By this process's own clock, which neither steps nor differs between machines. */
  readonly #since = new Map<string, number>();

  constructor(file: string, staleMs: number) {
    this.#staleMs = staleMs;
    this.#directory = path.dirname(file);
    this.#prefix = `${path.basename(file)}.`;
  }

  /** Names of the claims of living writers, after those of dead ones have been removed. */
  async others(own: string | null): Promise<readonly string[]> {
    const names = (await readdir(this.#directory)).filter(
      (name) => name.startsWith(this.#prefix) && name !== own && CLAIM.test(name),
    );
    const living: string[] = [];
    for (const name of names) {
      if (this.#isDead(name)) await rm(path.join(this.#directory, name), { force: true });
      else living.push(name);
    }
    return living;
  }

  #isDead(name: string): boolean {
    const [, host, pid] = CLAIM.exec(name) ?? [];
    if (host === HOST && isGone(Number(pid))) return true;
    const since = this.#since.get(name) ?? performance.now();
    this.#since.set(name, since);
    return performance.now() - since > this.#staleMs;
  }
}
