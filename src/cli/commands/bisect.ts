import { commitRange, commitSubject, describeCommits } from "../../bisect/commits.ts";
import { DEFAULTS } from "../../config/run-options.ts";
import type { Invocation } from "../console/command.ts";
import { interruptSignal } from "../console/ports.ts";
import { checkSearch, printSearch, search, searchEnvironment } from "../search/search-command.ts";

export async function bisect(invocation: Invocation): Promise<number> {
  const { good, bad, command } = checkSearch(invocation);
  const range = await commitRange(process.cwd(), good, bad);
  const setup = invocation.text.setup ?? null;
  const interrupt = interruptSignal();
  const finished = await search(invocation, command, {
    identity: { kind: "bisect", good: range.good, bad: range.commits.at(-1), inside: range.inside, setup },
    subject: commitSubject(range, setup, searchEnvironment(invocation), interrupt),
    defaultOutput: DEFAULTS.bisect,
    interrupt,
  });
  const { result } = finished;
  const found = result.kind === "not-reproducible" ? [] : result.changes.flatMap((at) => range.commits[at] ?? []);
  const changes = found.length === 0 ? [] : await describeCommits(range.top, found);
  const lines = changes.flatMap(({ commit, subject, author, date_iso }) => [
    `${commit.slice(0, 12)} ${subject}`,
    `  ${author}, ${date_iso}`,
  ]);
  const many = changes.length > 1 ? [`One of ${changes.length} commits, which could not be judged one by one:`] : [];
  return printSearch(invocation, finished, { lines: [...many, ...lines], changes });
}
