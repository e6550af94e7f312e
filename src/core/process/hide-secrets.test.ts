import { describe, expect, it } from "vitest";
import { costRatio, MAX_LINEAR_RATIO } from "../testing/cost-ratio.ts";
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

  it.each(["-", "a", "a=", "token", "://a"])("takes time linear in the length of %j repeated", (text) => {
    const hide = (length: number) => hideSecrets([text.repeat(length / text.length)]);
    expect(costRatio(hide, 25_000, 200_000)).toBeLessThan(MAX_LINEAR_RATIO);
  });
});
