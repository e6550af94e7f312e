/** A command of the page and what it printed, as two fenced blocks, "sh" and "text", one after the other. */
export interface PageStep {
  readonly command: string;
  readonly output: string;
}

const STEP = /```sh\n([\s\S]*?)\n```\n\n```text\n([\s\S]*?)\n?```/g;

/** The commands of a page with their outputs, in order. Blocks of other languages are not run. */
export function pageSteps(page: string): readonly PageStep[] {
  return [...page.matchAll(STEP)].map(([, command = "", output = ""]) => ({ command, output }));
}

/**
 * The page with its outputs replaced.
 * @param outputs one for each step, in order
 */
export function withOutputs(page: string, outputs: readonly string[]): string {
  let next = 0;
  return page.replace(
    STEP,
    (_, command: string) => `\`\`\`sh\n${command}\n\`\`\`\n\n\`\`\`text\n${outputs[next++] ?? ""}\n\`\`\``,
  );
}
