import path from "node:path";
import { GateError, usageError } from "../core/errors.ts";
import { withoutLinks } from "../core/files.ts";
import { openFileStore } from "./file-store.ts";
import type { BaselineStore } from "./store.ts";

/** Location of a baseline. */
export type BaselineSpec =
  | { readonly kind: "store"; readonly store: BaselineStore }
  | { readonly kind: "bundle"; readonly directory: string; readonly text: string }
  | { readonly kind: "file"; readonly file: string; readonly text: string };

/** Opens a remote store: `name` as in the spec, `location` is the text after the colon. */
type OpenStore = (name: string, location: string) => BaselineStore;

/** Stores over GitHub's API, if available. */
export interface StoreOpeners {
  /** For `ref:`; without it the clone's own ref is used. */
  readonly openRef?: OpenStore | undefined;
  /** For `file:` where the work tree is not what counts; null = this directory is read from the work tree. */
  readonly openFile?: ((name: string, directory: string) => BaselineStore | null) | undefined;
  /** For `artifact:`. */
  readonly openArtifact?: OpenStore | undefined;
}

/** `artifact:` without GitHub's API. */
function unreachable(name: string): BaselineStore {
  const fail = async (): Promise<never> => {
    throw new GateError("BASELINE_STORE_UNREADABLE", `${name} is read over GitHub's API, in a workflow with a token.`, {
      where: name,
    });
  };
  return { name, kind: "artifact", list: fail, update: fail };
}

/** The ref of a clone, whose code is loaded when it is first read. */
function ofClone(name: string, root: string, ref: string): BaselineStore {
  const opened = async () => (await import("./git-store.ts")).openGitStore(name, root, ref);
  return {
    name,
    kind: "ref",
    list: async (scenario) => (await opened()).list(scenario),
    update: async (...record) => (await opened()).update(...record),
    keepPeak: async (record, text) => (await opened()).keepPeak?.(record, text),
  };
}

/**
 * Parses `file:DIR`, `ref:NAME`, `artifact:NAME`, `bundle:DIR` or a plain file. Paths are relative to `root`.
 * @throws GateError BASELINE_SPEC_INVALID (usage)
 */
export function parseBaselineSpec(text: string, root: string, openers: StoreOpeners = {}): BaselineSpec {
  const [, scheme, rest] = /^(file|ref|bundle|artifact):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined) return { kind: "file", file: path.resolve(root, text), text };
  if (rest === undefined || rest === "") {
    throw usageError("BASELINE_SPEC_INVALID", `baseline "${text}" has no value after "${scheme}:"`);
  }
  switch (scheme) {
    case "file": {
      const directory = path.resolve(root, rest);
      return {
        kind: "store",
        store: openers.openFile?.(text, directory) ?? openFileStore(text, withoutLinks(directory)),
      };
    }
    case "ref":
      if (!/^refs\/[\w./-]+$/.test(rest) || rest.includes("..") || rest.endsWith("/") || rest.endsWith(".lock")) {
        throw usageError(
          "BASELINE_SPEC_INVALID",
          `baseline "${text}" is not a full ref name`,
          'Write for example "ref:refs/stormlog/baselines".',
        );
      }
      return { kind: "store", store: openers.openRef?.(text, rest) ?? ofClone(text, root, rest) };
    case "bundle":
      return { kind: "bundle", directory: path.resolve(root, rest), text };
    default:
      return { kind: "store", store: openers.openArtifact?.(text, rest) ?? unreachable(text) };
  }
}
