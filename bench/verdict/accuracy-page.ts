import type { Table } from "./parts/part.ts";
import { markdown } from "./report.ts";

/** Which tables the page shows: the first of each part, and what a usual baseline gives the peak gate. */
function shown(results: Readonly<Record<string, readonly Table[]>>): Table[] {
  return Object.entries(results).flatMap(([name, tables]) =>
    name === "peaks"
      ? tables.filter(({ title }) => /: (10 baseline runs.*peak alone|sessions differ)/.test(title))
      : tables.slice(0, 1),
  );
}

/** `docs/accuracy.md`: the newest figures, how to get them again, and what is missed. */
export function accuracyPage(
  results: Readonly<Record<string, readonly Table[]>>,
  run: { readonly seed: number; readonly command: string },
): string {
  return `# How accurate the verdicts are

These tables are written by the bench, from seed ${run.seed}:

\`\`\`sh
${run.command}
\`\`\`

\`DIR\` holds \`megatron-lm/golden_mem_series.jsonl\`, memory series from Megatron-LM's own CI (run-length coded; not part of
this repository). The seed of this page differs from the one that thresholds were tuned with. The generators in
\`bench/verdict/corpus\` know nothing of the detector, but they were written by the same people: the real series are the
independent evidence. The rules ours is compared with are re-implemented from their formulas in \`bench/verdict/rules\`; most
of them were made for other series than these, and are shown as what a gate would do that took their answer for a verdict.
Without \`--quick\` the bench takes several minutes; it prints more tables than are shown here.

${markdown(shown(results))}
## What is missed, and why

- **Leaks below the floor.** Growth below the larger of 16 MiB and 1 % of the level is no \`leak\` however steady it is. Two
  thirds of the real series are so small that 2 % of them is below it. A stated horizon lowers the floor; without one, steady
  growth is a note.
- **A few random stairs.** Four to seven jumps of 20 MiB at random times often look like caches that fill, a jump and a rest:
  \`rising\`, \`step\` or \`plateau\`. Fewer than four are not counted at all.
- **Short runs under a saw-tooth.** With 50 samples and a period near a ratio of small numbers (3.8, 2.86), the cycle can
  neither be folded nor averaged out; below four cycles nothing is folded.
- **Slow noise in short runs.** AR(1) noise of 0.9 over 60 samples, much larger than the floor, is the hardest healthy case: a
  few in a hundred such series drift enough to be called a leak. Over 300 samples it is one in a hundred or fewer.
- **Late onset** is usually \`rising\`, not \`leak\`: what began in the last third could still end.
- **With a horizon of a million steps**, real "healthy" series that grow by 50 kB at every step are leaks. They are: it is 50 GB.
`;
}
