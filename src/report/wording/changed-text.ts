import type { Finding } from "../../analysis/series/document.ts";

/** Whether the change wrote the line that a finding names; null when that is unknown. Contains outside text. */
export function changedText({ evidence }: Finding, reader: "terminal" | "pull-request" = "terminal"): string | null {
  switch (evidence.changed) {
    case "changed":
      return reader === "pull-request" ? "changed in this pull request" : "changed since the base commit";
    case "unchanged":
      if (typeof evidence.called_from === "string") {
        return `unchanged; called from ${evidence.called_from}, which changed`;
      }
      return typeof evidence.nearest_change === "string"
        ? `unchanged; the nearest change is ${evidence.nearest_change}`
        : "unchanged";
    default:
      return null;
  }
}
