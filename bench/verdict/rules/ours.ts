import { analyze } from "../../../src/analysis/analyze.ts";
import type { SeriesAnalysis } from "../../../src/analysis/series/document.ts";
import type { Recording } from "../../../src/telemetry/recording/model.ts";
import type { Answer, Rule, SeriesKind } from "./rule.ts";

/** One series of one rank as a recording, steps given or counted. */
export function recordingOf(bytes: Float64Array, kind: SeriesKind = "level", steps?: Float64Array): Recording {
  return {
    epochNs: null,
    tables: [
      {
        rank: 0,
        device: "cuda:0",
        timeNs: null,
        steps: steps ?? Float64Array.from({ length: bytes.length }, (_, i) => i),
        columns: { allocated: bytes },
        highwater: new Set(kind === "highwater" ? (["allocated"] as const) : []),
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: null,
    missing: {},
    info: null,
  };
}

/** The product's result for one series. Calls the whole analysis, as users do. */
export function analysisOf(bytes: Float64Array, kind: SeriesKind = "level", steps?: Float64Array): SeriesAnalysis {
  return analyze(recordingOf(bytes, kind, steps)).series[0]!;
}

function answerOf(analysis: Pick<SeriesAnalysis, "class">): Answer {
  switch (analysis.class) {
    case "leak":
    case "rising":
      return analysis.class;
    case "insufficient":
    case "unavailable":
      return "none";
    default:
      return "other";
  }
}

export const ours: Rule = {
  name: "Stormlog Gate",
  judge: (bytes, kind) => answerOf(analysisOf(bytes, kind)),
};
