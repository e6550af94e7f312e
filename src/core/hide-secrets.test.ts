import { describe, expect, it } from "vitest";
import { hideSecrets } from "./hide-secrets.ts";

describe("hideSecrets", () => {
  it.each([
    [
      ["train", "--hf-token", "abc"],
      ["train", "--hf-token", "***"],
    ],
    [
      ["train", "--password=abc"],
      ["train", "--password=***"],
    ],
    [
      ["sh", "-c", "HF_TOKEN=abc python t.py --api-key 'a b' --lr 3"],
      ["sh", "-c", "HF_TOKEN=*** python t.py --api-key *** --lr 3"],
    ],
    [
      ["sh", "-c", "export DB_PASSWORD=x;run"],
      ["sh", "-c", "export DB_PASSWORD=***;run"],
    ],
    [
      ["git", "clone", "https://me:pw@example.org/x"],
      ["git", "clone", "https://***@example.org/x"],
    ],
    [
      ["curl", `Bearer ghp_${"a".repeat(36)}`],
      ["curl", "Bearer ***"],
    ],
    [
      ["--data", `hf_${"b".repeat(30)}`],
      ["--data", "***"],
    ],
  ])("hides what is secret in %j", (argv, shown) => {
    expect(hideSecrets(argv)).toEqual(shown);
  });

  it.each([
    [["train", "--max-tokens", "512", "--tokenizer", "gpt2", "--tokens=5"]],
    [["train", "--lr", "3e-4", "--steps=200", "--secret"]],
    [["python", "train.py", "--password", "--verbose"]],
    [["sh", "-c", "python make_tokens.py > tokens.txt && TOKENIZERS_PARALLELISM=false run"]],
    [["https://example.org:8080/a@b"]],
  ])("leaves %j as it is", (argv) => {
    expect(hideSecrets(argv)).toEqual(argv);
  });

  it("takes time proportional to the length of a text without secrets", () => {
    const duration = (length: number): number => {
      const started = performance.now();
      for (const word of ["-", "a", "a=", "token", "://a"]) hideSecrets([word.repeat(length / word.length)]);
      return performance.now() - started;
    };
    const short = Math.max(duration(50_000), duration(50_000), 1);
    // Four times the length; sixteen times the duration would be quadratic.
    expect(duration(200_000)).toBeLessThan(12 * short);
  });
});
