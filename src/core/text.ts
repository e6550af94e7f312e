/** "1 run", "2 runs"; `many` where the plural is not the noun with an "s". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** Text with its line breaks replaced by spaces, for output of one line each. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}
