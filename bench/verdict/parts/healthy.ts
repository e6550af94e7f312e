import { readRealSeries } from "../corpus/real.ts";
import { describeShare, Tally } from "../intervals.ts";
import type { Part } from "./part.ts";

/** Real series that are healthy: every alarm is a false one. */
export const healthy: Part = ({ data, rules }) => {
  const series = readRealSeries(data);
  const tally = new Tally();
  for (const { bytes, kind } of series) {
    for (const rule of rules) {
      const answer = rule.judge(bytes, kind);
      tally.add(`${rule.name} ${kind} leak`, answer === "leak");
      tally.add(`${rule.name} ${kind} rising`, answer === "rising");
    }
  }
  const cases = new Set(series.map(({ testCase }) => testCase)).size;
  return [
    {
      title: "Healthy real series",
      note: `Training runs of ${cases} test cases that their owners accept. Every alarm is false. In brackets: hits, series, 95 % Wilson interval.`,
      rows: [
        ["rule", "level: leak", "level: rising", "high-water: leak", "high-water: rising"],
        ...rules.map(({ name }) => [
          name,
          ...["level leak", "level rising", "highwater leak", "highwater rising"].map((what) =>
            describeShare(tally.get(`${name} ${what}`)),
          ),
        ]),
      ],
    },
  ];
};
