import type { Table } from "./parts/part.ts";
import { markdown } from "./report.ts";

/** Which tables of a part the page shows where that is not its first alone. */
const SHOWN: Readonly<Record<string, number>> = { "trade-offs": 2, growth: 2, reruns: 3 };

function shown(results: Readonly<Record<string, readonly Table[]>>): Table[] {
  return Object.entries(results).flatMap(([name, tables]) => tables.slice(0, SHOWN[name] ?? 1));
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

\`DIR\` holds \`megatron-lm/golden_mem_series.jsonl\` and \`golden_peak_history.csv\`, memory series and accepted peaks from
Megatron-LM's own CI, and \`modded-nanogpt/peak_memory_reruns.csv\`, peaks of identical code run again and again (none of them
part of this repository). The seed of this page differs from the one that thresholds were tuned with. The generators in
\`bench/verdict/corpus\` know nothing of the detector, but they were written by the same people: the real series are the
independent evidence. The rules ours is compared with are re-implemented from their formulas in \`bench/verdict/rules\`; most
of them were made for other series than these, and are shown as what a gate would do that took their answer for a verdict.
Without \`--quick\` the bench takes several minutes; it prints more tables than are shown here.

${markdown(shown(results))}
## What is missed, and why

- **Leaks below the floor.** Growth below the larger of 12 MiB (of an allocator's count; 16 MiB of what the driver or the system
  counts) and 1 % of the level is no \`leak\` however steady it is. Four in ten of the real series are so small that 2 % of them is
  below it. A stated horizon lowers the floor; without one, steady growth is a note.
- **A few random stairs.** Four to seven equal jumps at random times are found when their times look evenly drawn; where noise
  hides that they are equal, they often look like caches that fill, a jump and a rest. Fewer than four are not counted at all.
- **Short runs under a saw-tooth.** With 50 to 80 samples and a period near a whole number of samples or a ratio of small numbers, the
  same few phases of the tooth are seen each time: growth below it and a slightly other period explain the samples equally
  well. About one healthy saw-tooth in a hundred is still called a leak there; below four cycles nothing is folded.
- **Slow noise in short runs.** AR(1) noise of 0.9 over 60 samples, much larger than the floor, is the hardest healthy case: two or three
  in a hundred such series drift enough to be called a leak. Over 300 samples it is one in two hundred.
- **A slow warm-up in few samples.** What fills up exponentially with a time constant of 15 % of the run still rises when a run of 60
  samples ends; a few in a hundred are called a leak.
- **Late onset** is usually \`rising\`, not \`leak\`: what began in the last third could still end.
- **A few percent of a noisy peak.** Where identical runs differ by 1 %, a change of +2 % is mostly not found. Every pass says what
  it could not have seen.
- **Sessions, while the base cannot be run.** A baseline of one or two sessions cannot know what sessions differ by: where they do,
  clean changes are red, unconfirmed. From three sessions on it knows, and the price is power: a change within what
  sessions differ by is a warning. With the base run again both are had.
- **Growth that wanders.** In a random walk a leak of the walk's own size is not told from it by growth; the peak finds
  it when it is twice as large.
- **With a horizon**, fewer than 100 steady samples are never a leak: some healthy runs of 50 steps grow by the same 50 kB at every
  step. Such growth is \`rising\`; a longer run decides.
`;
}
