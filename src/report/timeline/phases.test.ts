import { describe, expect, it } from "vitest";
import { THEMES } from "../drawing/palette.ts";
import { payloadOf, reportOf } from "../model/payload.ts";
import { sampleReport, sampleScenario, sampleTimeline } from "../testing/sample-report.ts";
import { renderTimelinePng } from "./timeline-png.ts";
import { drawPhases, renderTimelineSvg } from "./timeline-svg.ts";

const LAYOUT = { left: 100, right: 1100, bottom: 400, xOf: (time: number) => 100 + time * 10, theme: THEMES.light };
const stretch = (name: string, from_s: number, to_s: number) => ({ name, from_s, to_s });
const drawn = (...phases: ReturnType<typeof stretch>[]) => drawPhases(sampleTimeline({ phases }), LAYOUT);
const boxes = (svg: string) =>
  [...svg.matchAll(/<rect x="([\d.]+)" y="376" width="([\d.]+)"[^>]*fill-opacity="([\d.]+)"/g)].map((one) =>
    one.slice(1).map(Number),
  );
const texts = (svg: string) => [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);

describe("the strip of phases", () => {
  it("the phase strip has a box for each phase, one tone for each name, and names where they fit", () => {
    const svg = drawn(stretch("train", 0, 30), stretch("check", 30, 31), stretch("train", 31, 60));
    const [first, second, third] = boxes(svg);
    expect([first!.slice(0, 2), second!.slice(0, 2), third!.slice(0, 2)]).toEqual([
      [100, 299],
      [400, 9],
      [410, 289],
    ]);
    expect(first![2]).toBe(third![2]);
    expect(first![2]).not.toBe(second![2]);
    expect(texts(svg)).toEqual(["train", "train"]);
  });

  it("stays within the plot and omits phases that are too narrow to be visible", () => {
    expect(boxes(drawn(stretch("early", -50, 10), stretch("short", 10, 10.1), stretch("late", 90, 1e9)))).toEqual([
      [100, 99, expect.any(Number)],
      [1000, 99, expect.any(Number)],
    ]);
    expect(drawn(stretch("past", 200, 300), stretch("odd", 1e100, -1e100)).trim()).toBe("");
  });

  it("the phase strip is absent where no phase was named, and escapes every name", () => {
    expect(drawPhases(sampleTimeline(), LAYOUT)).toBe("");
    const svg = renderTimelineSvg(sampleTimeline({ phases: [stretch("</text><script>x</script>&\u202e", 0, 40)] }));
    expect(svg).not.toMatch(/<script|\u202e/);
    expect(svg).toContain("&#60;script&#62;");
  });

  it("the phase strip is part of the picture, also for a report that was read back", async () => {
    const phases = [stretch("warm-up", 0, 10), stretch("train", 10, 40)];
    const timeline = sampleTimeline({ phases });
    const report = sampleReport("fail", { scenarios: [sampleScenario("fail", { timeline })] });
    const back = reportOf(payloadOf(report), report.tool, report.generated_at_utc).scenarios[0]!.timeline!;
    expect(back.phases).toEqual(phases);
    const [without, shown] = await Promise.all([renderTimelinePng(sampleTimeline()), renderTimelinePng(timeline)]);
    expect(Buffer.compare(without, shown)).not.toBe(0);
  });
});
