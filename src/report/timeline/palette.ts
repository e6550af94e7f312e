import type { Verdict } from "../documents/model.ts";

/** Line styles in Okabe and Ito's colours, safe for colour blindness; they differ in width or dash as well. */
export const LINE_STYLES = [
  { color: "#0072b2", width: 3, dash: "" },
  { color: "#cc79a7", width: 2, dash: "" },
  { color: "#009e73", width: 2, dash: "9 4" },
  { color: "#e69f00", width: 2, dash: "2 4" },
  { color: "#56b4e9", width: 2, dash: "12 4 2 4" },
  { color: "#7a5195", width: 2, dash: "6 3" },
  { color: "#8c6d31", width: 2, dash: "14 6" },
  { color: "#5b6770", width: 2, dash: "3 3" },
] as const;

export const BASELINE = { band: "#bcc4cd", line: "#57606a", dash: "7 5" } as const;
export const BUDGET_LINE = { color: "#1f2328", dash: "14 5 3 5" } as const;
export const LIMIT_LINE = { color: "#d55e00", dash: "8 5" } as const;
export const INK = { text: "#1f2328", soft: "#59636e", grid: "#e6e9ec", axis: "#8c959f", paper: "#ffffff" } as const;

/** Label, sign and colour of a verdict; white text on the colour has a contrast of at least 4.5. */
export const VERDICT_LOOK: Readonly<
  Record<Verdict, { readonly label: string; readonly sign: string; readonly color: string }>
> = {
  pass: { label: "PASS", sign: "✓", color: "#11703f" },
  warn: { label: "WARN", sign: "!", color: "#8a5700" },
  fail: { label: "FAIL", sign: "✗", color: "#b42318" },
  unjudged: { label: "UNJUDGED", sign: "?", color: "#57606a" },
  error: { label: "ERROR", sign: "✗", color: "#6f1d77" },
};
