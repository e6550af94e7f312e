/** A double-quoted YAML string; JSON's is one. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The name of a branch or the path of a file where a workflow expects a pattern. */
export function literalPattern(name: string): string {
  return quoted(name.replace(/[*?+[\]!]/g, "\\$&"));
}

/** Lines of `with:` at an indentation, without those that have no value. */
export function inputs(indent: number, values: Readonly<Record<string, string | null>>): string {
  const lines = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [`${" ".repeat(indent)}${name}: ${value}\n`],
  );
  return lines.join("");
}
