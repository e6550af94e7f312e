import { createHash } from "node:crypto";
import { unlessMissing } from "../api/degrade.ts";
import type { Octokit } from "../api/octokit.ts";
import type { Repository } from "../api/run-context.ts";
import type { GitData } from "../repository/git-data-client.ts";

/** Where all picture refs live. */
const IMAGES = "refs/stormlog/images/";

/** A report's picture for light and dark pages. `key` is the gate id, with the leg of a matrix behind a slash. */
export interface ReportImage {
  readonly key: string;
  readonly light: Uint8Array;
  readonly dark: Uint8Array;
}

/** Addresses of the two. */
export interface ImageAddresses {
  readonly light: string;
  readonly dark: string;
}

export interface ImageRepository extends Repository {
  /** `https://github.com`, without a slash at its end. */
  readonly serverUrl: string;
}

/** Hidden ref that holds the pictures of a pull request. */
export function imageRef(pullRequest: number): string {
  return `${IMAGES}pr-${pullRequest}`;
}

/**
 * Put pictures of a pull request on its hidden ref, in one commit, and give the address of each, pinned to that commit.
 * Pictures of other keys stay.
 * @returns addresses by key
 * @throws GateError BASELINE_STORE_BUSY, and what the client throws
 */
export async function publishImages(
  gitData: GitData,
  repository: ImageRepository,
  input: { readonly pullRequest: number; readonly images: readonly ReportImage[] },
): Promise<ReadonlyMap<string, ImageAddresses>> {
  const { pullRequest, images } = input;
  if (images.length === 0) return new Map();
  const files = new Map(
    images.flatMap(({ key, light, dark }) => [
      [imagePath(key, "light"), light],
      [imagePath(key, "dark"), dark],
    ]),
  );
  const commit = await gitData.commit(
    imageRef(pullRequest),
    `Pictures of pull request ${pullRequest}`,
    async () => files,
  );
  if (commit === null) return new Map();
  // By this address signed-in readers of private repositories see a file too, pinned to a commit.
  const base = `${repository.serverUrl}/${repository.owner}/${repository.repo}/blob/${commit}`;
  const address = (key: string, theme: ImageTheme) =>
    `${base}/${imagePath(key, theme).split("/").map(encodeURIComponent).join("/")}?raw=true`;
  return new Map(images.map(({ key }) => [key, { light: address(key, "light"), dark: address(key, "dark") }]));
}

type ImageTheme = keyof ImageAddresses;

/**
 * File of a picture on the ref: a plain key, else its plain letters and a hash, so that keys never share a file. No
 * plain key has the "~" of dark pictures.
 */
export function imagePath(key: string, theme: ImageTheme = "light"): string {
  const parts = key.split("/").map((part) => part.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^\.+/, "") || "-");
  const plain = parts.join("/");
  const unique = plain === key ? "" : `-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
  return `${plain}${unique}${theme === "dark" ? "~dark" : ""}.png`;
}

export interface ExpiredImages {
  /** Full names of the refs that are gone. */
  readonly deleted: readonly string[];
  /** Refs that could not be looked at or deleted, with why. */
  readonly failed: readonly { readonly ref: string; readonly error: unknown }[];
}

export interface ExpiryInput {
  readonly octokit: Octokit;
  readonly gitData: GitData;
  readonly repository: Repository;
  readonly now?: Date;
}

/**
 * Delete the picture refs of pull requests that are closed or gone, and those whose last picture is older than
 * 30 days. One that fails does not keep the others.
 * @throws what the client throws when the refs cannot be listed
 */
export async function expireImages(input: ExpiryInput): Promise<ExpiredImages> {
  const { gitData } = input;
  const deleted: string[] = [];
  const failed: { ref: string; error: unknown }[] = [];
  // Refs checked in one go; a nightly job reaches the others in its next runs.
  for (const { ref, commit } of (await gitData.refs(`${IMAGES}pr-`)).slice(0, 200)) {
    const [, digits] = /\/pr-(\d{1,9})$/.exec(ref) ?? [];
    if (digits === undefined) continue;
    try {
      if (!(await isOver(input, Number(digits), commit))) continue;
      await gitData.deleteRef(ref);
      deleted.push(ref);
    } catch (error) {
      failed.push({ ref, error });
    }
  }
  return { deleted, failed };
}

async function isOver(input: ExpiryInput, pullRequest: number, commit: string): Promise<boolean> {
  const { octokit, repository, now = new Date() } = input;
  const { owner, repo } = repository;
  const pull = await unlessMissing(octokit.rest.pulls.get({ owner, repo, pull_number: pullRequest }));
  if (pull === null || pull.data.state === "closed") return true;
  const { data } = await octokit.rest.git.getCommit({ owner, repo, commit_sha: commit });
  return now.getTime() - Date.parse(data.committer.date) > 30 * 86_400_000;
}
