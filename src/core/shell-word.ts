const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'" };

/** A word as a shell reads it: unchanged where it has no special characters, else in single quotes and on one line. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!/[\r\n]/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${word.replace(/[\n\r\t\\']/g, (character) => ESCAPES[character] ?? "")}'`;
}
