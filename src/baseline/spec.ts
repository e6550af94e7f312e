import path from "node:path";
import { usageError } from "../core/errors.ts";
import { openFileStore } from "./file-store.ts";
import { openGitStore } from "./git-store.ts";
import type { BaselineStore } from "./store.ts";

/** Where a baseline comes from. */
export type BaselineSpec =
  | { readonly kind: "store"; readonly store: BaselineStore }
  | { readonly kind: "bundle"; readonly directory: string; readonly text: string }
  | { readonly kind: "file"; readonly file: string; readonly text: string };

/**
 * Parse `file:DIR`, `ref:NAME`, `bundle:DIR` or a plain file; paths are taken from `root`.
 * @throws GateError BASELINE_SPEC_INVALID (usage)
 */
export function parseBaselineSpec(text: string, root: string): BaselineSpec {
  const [, scheme, rest] = /^(file|ref|bundle|artifact):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined) return { kind: "file", file: path.resolve(root, text), text };
  if (rest === undefined || rest === "") {
    throw usageError("BASELINE_SPEC_INVALID", `baseline "${text}" names nothing behind "${scheme}:"`);
  }
  switch (scheme) {
    case "file":
      return { kind: "store", store: openFileStore(text, path.resolve(root, rest)) };
    case "ref":
      if (!/^refs\/[\w./-]+$/.test(rest) || rest.includes("..") || rest.endsWith("/") || rest.endsWith(".lock")) {
        throw usageError(
          "BASELINE_SPEC_INVALID",
          `baseline "${text}" is no full ref name`,
          'Write for example "ref:refs/stormlog/baselines".',
        );
      }
      return { kind: "store", store: openGitStore(text, root, rest) };
    case "bundle":
      return { kind: "bundle", directory: path.resolve(root, rest), text };
    default:
      throw usageError(
        "BASELINE_SPEC_INVALID",
        `baseline "${text}": this version does not read baselines from ${scheme}s`,
      );
  }
}
