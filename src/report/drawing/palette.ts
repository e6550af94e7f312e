import type { Verdict } from "../model/gate-report.ts";

/** Okabe and Ito's colours for several lines, safe for colour blindness, and three more. */
export const LINE_COLORS = [
  "#0072b2",
  "#cc79a7",
  "#009e73",
  "#e69f00",
  "#56b4e9",
  "#7a5195",
  "#8c6d31",
  "#5b6770",
] as const;

/** Colours of a timeline's picture on one kind of page; text has a contrast of at least 4.5 with the paper. */
export interface Theme {
  readonly paper: string;
  /** Behind the line of code. */
  readonly plate: string;
  readonly text: string;
  readonly soft: string;
  readonly grid: string;
  /** The measured run. */
  readonly line: string;
  readonly band: string;
  readonly median: string;
  readonly limit: string;
  readonly budget: string;
  readonly excess: string;
}

export const THEMES = {
  light: {
    paper: "#ffffff",
    plate: "#eef1f4",
    text: "#1f2328",
    soft: "#59636e",
    grid: "#e6eaef",
    line: "#0969da",
    band: "#d0d7de",
    median: "#59636e",
    limit: "#9a6700",
    budget: "#8250df",
    excess: "#cf222e",
  },
  dark: {
    paper: "#0d1117",
    plate: "#161b22",
    text: "#f0f6fc",
    soft: "#9198a1",
    grid: "#21262d",
    line: "#4493f8",
    band: "#3d444d",
    median: "#9198a1",
    limit: "#d29922",
    budget: "#ab7df8",
    excess: "#f85149",
  },
} as const satisfies Record<string, Theme>;
export type ThemeName = keyof typeof THEMES;

export const LIMIT_DASH = "7 5";
export const BUDGET_DASH = "14 5 3 5";

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
