const MASK = "***";

/** Words by which people name what must stay secret, in an option, a variable or a field. */
const SECRET_NAME =
  "[\\w.-]{0,60}(?:token(?!s|iz)|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\\w.-]{0,60}";

/** A value: quoted, or up to the next white space or shell operator. */
const VALUE = `(?:"(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s"';|&<>]+)`;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // --hf-token VALUE, --password=VALUE, HF_TOKEN=VALUE, but neither --max-tokens 5 nor --tokenizer FILE.
  [new RegExp(`(--?${SECRET_NAME})([= ]+)(?!-)${VALUE}`, "gi"), `$1$2${MASK}`],
  [new RegExp(`(^|[\\s;&|(])(${SECRET_NAME})=${VALUE}`, "gi"), `$1$2=${MASK}`],
  // https://user:password@host
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi, `$1${MASK}@`],
  // Tokens of GitHub, Hugging Face, GitLab, AWS and others are recognisable by their prefix.
  [
    /\b(?:gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{20,}|AKIA[A-Z0-9]{16}|sk-[\w-]{20,})\b/g,
    MASK,
  ],
];

function hideInText(text: string): string {
  return PATTERNS.reduce((shown, [pattern, mask]) => shown.replace(pattern, mask), text);
}

const BARE_OPTION = new RegExp(`^--?${SECRET_NAME}$`, "i");

/** A command for evidence, which no log mask protects. Recognised by name and by look; other secrets stay. */
export function hideSecrets(argv: readonly string[]): readonly string[] {
  return argv.map((word, at) => {
    const before = argv[at - 1];
    if (before !== undefined && BARE_OPTION.test(before) && !word.startsWith("-")) return MASK;
    return hideInText(word);
  });
}
