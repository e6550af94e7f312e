import { withDeadline } from "../deadline.ts";
import type { Octokit } from "../octokit.ts";
import type { GitData } from "../repository/git-data.ts";
import { IMAGES, type ImageRepository, imageAddress } from "./image-ref.ts";

/** Whether readers of a comment see a picture that is stored in the repository. */
export type ImageCheck = { readonly kind: "shown" } | { readonly kind: "hidden"; readonly reason: string };

/** The question is asked once; its answer is stored beside the picture it was asked with. */
const REF = `${IMAGES}check`;
const PICTURE = "check.png";
const ANSWER = "check.json";
/** A "no" is asked again after this, days: GitHub and settings change. */
const RETRY_DAYS = 30;
const DAY_MS = 86_400_000;
const FETCH_MS = 10_000;

/** One grey pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==",
  "base64",
);

export interface ImageCheckInput {
  readonly octokit: Octokit;
  readonly gitData: GitData;
  readonly repository: ImageRepository;
  readonly now?: Date;
}

/**
 * Ask once whether a picture in this repository is shown in a comment: one pixel is stored, GitHub renders a link to
 * it, and the address in the rendered page shows who will fetch it. On GitHub's own host it is the signed-in reader.
 * Its image proxy is not signed in, so the question is then asked without a token, too.
 * @throws what the client throws
 */
export async function checkImages(input: ImageCheckInput): Promise<ImageCheck> {
  const { gitData, repository, now = new Date() } = input;
  const known = await knownAnswer(gitData, now);
  if (known !== null) return known;
  const commit = await gitData.commit(REF, "Is this picture shown?", async () => new Map([[PICTURE, PIXEL]]));
  if (commit === null) return { kind: "hidden", reason: "the picture could not be stored" };
  const answer = await ask(input, imageAddress(repository, commit, PICTURE));
  const text = `${JSON.stringify({ schema: "stormlog.image-check/1", ...answer, checked: now.toISOString() })}\n`;
  await gitData.commit(REF, "What was found", async () => new Map([[ANSWER, Buffer.from(text)]]));
  return answer;
}

async function knownAnswer(gitData: GitData, now: Date): Promise<ImageCheck | null> {
  const file = (await gitData.snapshot(REF))?.files.find(({ path }) => path === ANSWER);
  if (file === undefined || (file.size ?? 0) > 4096) return null;
  try {
    const known: unknown = JSON.parse(Buffer.from(await gitData.blob(file.sha)).toString("utf8"));
    if (typeof known !== "object" || known === null || !("kind" in known)) return null;
    if (known.kind === "shown") return { kind: "shown" };
    if (known.kind !== "hidden" || !("checked" in known) || typeof known.checked !== "string") return null;
    const reason = "reason" in known && typeof known.reason === "string" ? known.reason : "";
    const age = now.getTime() - Date.parse(known.checked);
    return age < RETRY_DAYS * DAY_MS ? { kind: "hidden", reason } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function ask({ octokit, repository }: ImageCheckInput, address: string): Promise<ImageCheck> {
  const { serverUrl, owner, repo } = repository;
  const { data } = await octokit.rest.markdown.render({
    text: `![picture](${address})`,
    mode: "gfm",
    context: `${owner}/${repo}`,
  });
  const [, source] = /<img\s[^>]*?\bsrc="([^"]+)"/.exec(String(data)) ?? [];
  if (source === undefined) return { kind: "hidden", reason: "GitHub did not render a linked picture" };
  const url = new URL(source.replaceAll("&amp;", "&"), `${serverUrl}/`);
  if (url.host === new URL(serverUrl).host) return { kind: "shown" };
  return fetchedWithoutToken(url);
}

async function fetchedWithoutToken(url: URL): Promise<ImageCheck> {
  try {
    // Without a token, as the proxy asks.
    const response = await withDeadline({ ms: FETCH_MS }, (signal) => fetch(url, { signal }));
    await response.body?.cancel();
    const type = response.headers.get("content-type") ?? "";
    if (response.ok && type.startsWith("image/")) return { kind: "shown" };
    const what = response.ok
      ? `returned ${type.slice(0, 40) || "something"} instead of a picture`
      : `returned ${response.status}`;
    return { kind: "hidden", reason: `GitHub's image proxy ${what}` };
  } catch {
    return { kind: "hidden", reason: "GitHub's image proxy did not answer" };
  }
}
