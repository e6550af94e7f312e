import type { Octokit } from "./octokit.ts";

/** The login of what is written with the job's own token. */
const ACTIONS_BOT = "github-actions[bot]";

/**
 * Whether an author is us: a marker can be pasted by anyone, so what counts as ours is also written by us. Who we are
 * is only asked when a marked text is not from the job token's own bot.
 */
export function ownAuthor(octokit: Octokit): (author: string) => Promise<boolean> {
  let viewer: Promise<string> | undefined;
  return async (author) => {
    if (author === ACTIONS_BOT) return true;
    if (author === "") return false;
    viewer ??= octokit
      .graphql<{ viewer: { login: string } }>("query { viewer { login } }")
      .then((answer) => answer.viewer.login)
      .catch(() => ACTIONS_BOT);
    return author === (await viewer);
  };
}

/** The key of a marker: nothing in it can end the HTML comment around it. */
export function markerKey(key: string): string {
  return key.replace(/[^A-Za-z0-9._/-]/g, "-").replace(/-{2,}/g, "-");
}

/** Line ends and a trailing newline come back from GitHub as it likes; they are no change of the text. */
export function sameText(a: string, b: string): boolean {
  const plain = (text: string): string => text.replace(/\r\n/g, "\n").trimEnd();
  return plain(a) === plain(b);
}
