import { scenarioDirectory } from "../../baseline/identity.ts";
import {
  type BaselineStore,
  changedRecord,
  contentOf,
  isStoredName,
  MAX_STORED_BYTES,
  peakName,
  recordName,
  type StoreContent,
  type StoredRecord,
  tooLarge,
  unwritable,
} from "../../baseline/store.ts";
import { GateError } from "../../core/errors.ts";
import { DeadlineError, withDeadline } from "../api/deadline.ts";
import { degradedWarning, unreadableStore } from "../api/degrade.ts";
import type { GitData, RefSnapshot, TreeFile } from "./git-data-client.ts";

/** Blobs read at once. */
const PARALLEL = 6;

class RefStore implements BaselineStore {
  readonly name: string;
  readonly kind = "ref";
  readonly #gitData: GitData;
  readonly #ref: string;
  /** Blobs never change, and several scenarios and both looks of a gate read the same ones. */
  readonly #texts = new Map<string, string>();

  /** Who did not answer once is not waited for again, scenario by scenario. */
  #silent: GateError | null = null;

  constructor(gitData: GitData, name: string, ref: string) {
    this.name = name;
    this.#gitData = gitData;
    this.#ref = ref;
  }

  async list(scenario?: string): Promise<StoreContent> {
    if (this.#silent !== null) throw this.#silent;
    try {
      // Maximum wait for the baselines of a scenario, milliseconds.
      return await withDeadline({ ms: 30_000 }, () => this.#read(scenario));
    } catch (error) {
      if (error instanceof GateError) throw error;
      const unreadable = unreadableStore(this.name, "contents: read", error);
      if (error instanceof DeadlineError) this.#silent = unreadable;
      throw unreadable;
    }
  }

  async #read(scenario: string | undefined): Promise<StoreContent> {
    const snapshot = await this.#gitData.snapshot(this.#ref);
    if (snapshot === null) return { exists: false, records: [], skipped: [] };
    const directory = scenario === undefined ? "" : `${scenarioDirectory(scenario)}/`;
    const files = snapshot.files.filter(({ path }) => isStoredName(path) && path.startsWith(directory));
    const texts: { name: string; text: string | null }[] = [];
    const large: string[] = [];
    for (let at = 0; at < files.length; at += PARALLEL) {
      const batch = files.slice(at, at + PARALLEL).filter((file) => {
        const fits = (file.size ?? 0) <= MAX_STORED_BYTES;
        if (!fits) large.push(tooLarge(file.path));
        return fits;
      });
      texts.push(
        ...(await Promise.all(batch.map(async (file) => ({ name: file.path, text: await this.#text(file) })))),
      );
    }
    const content = contentOf(texts);
    return { ...content, skipped: [...content.skipped, ...large] };
  }

  async #text({ sha }: TreeFile): Promise<string> {
    const known = this.#texts.get(sha);
    if (known !== undefined) return known;
    const text = Buffer.from(await this.#gitData.blob(sha)).toString("utf8");
    this.#texts.set(sha, text);
    return text;
  }

  async update(
    scenario: string,
    fingerprint: StoredRecord["record"]["fingerprint"],
    change: Parameters<BaselineStore["update"]>[2],
  ): Promise<StoredRecord> {
    const name = recordName(scenario, fingerprint);
    let written: StoredRecord | null = null;
    await this.#write(name, `Baseline of ${name}`, async (current) => {
      const file = current?.files.find(({ path }) => path === name);
      const { text, value } = changedRecord(
        this.name,
        name,
        file === undefined ? null : await this.#text(file),
        change,
      );
      written = value;
      return text;
    });
    if (written === null) throw unwritable(this.name, "there was nothing to write");
    return written;
  }

  keepPeak(record: string, text: string): Promise<void> {
    return this.#write(peakName(record), `Composition of ${record}`, async () => text);
  }

  async #write(
    name: string,
    message: string,
    textFor: (current: RefSnapshot | null) => Promise<string>,
  ): Promise<void> {
    try {
      await withDeadline({ ms: 270_000 }, () =>
        this.#gitData.commit(
          this.#ref,
          message,
          async (current) => new Map([[name, Buffer.from(await textFor(current))]]),
        ),
      );
    } catch (error) {
      if (error instanceof GateError) throw error;
      const attempt = { what: `write ${name}`, permission: "contents: write", instead: "" };
      throw unwritable(this.name, degradedWarning(attempt, error).replace(/[.\s]+$/, ""));
    }
  }
}

/** `ref:NAME` over GitHub's API: the same tree as the clone's ref of that name, without fetching or pushing it. */
export function openRefStore(gitData: GitData, name: string, ref: string): BaselineStore {
  return new RefStore(gitData, name, ref);
}
