import { getOctokit } from "@actions/github";
import type { Octokit } from "../../../src/github/octokit.ts";
import type { GitHubDouble } from "./github-double.ts";

/**
 * A client without the seconds between two writes that the step's own client keeps, and without its retries: both are
 * tested by themselves, and every other test would only wait for them.
 */
export function unpacedClient(github: GitHubDouble, token = "job"): Octokit {
  return getOctokit(token, { baseUrl: github.url });
}
