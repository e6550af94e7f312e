import type { GitHubDouble } from "../github-double.ts";
import type { GitHubContract } from "../openapi.ts";
import type { DoublePull } from "./pulls.ts";
import type { Routes } from "./route.ts";

const PULLS = "/repos/{owner}/{repo}/pulls";

/** A pull request as a test describes it. */
export interface OpenedPull {
  readonly number: number;
  readonly headSha: string;
  /** `owner/name`; null = its repository was deleted. Default is this repository. */
  readonly headRepo?: string | null;
  readonly headRef?: string;
  readonly baseRepo?: string;
  readonly state?: "open" | "closed";
  /** Login of the account that opened it. */
  readonly author?: string;
}

const HERE = "octo/model";

function repositoryOf(contract: GitHubContract, name: string): object {
  const [login] = name.split("/");
  const { repo } = contract.example("pull-request").head as { repo: { owner: object } };
  return { ...repo, full_name: name, name: name.split("/")[1], owner: { ...repo.owner, login } };
}

/** Put a pull request there, or change it; the double's route for a single one returns it too. */
export function openPull(double: GitHubDouble, pull: OpenedPull): void {
  const { number, headSha, headRepo = HERE, headRef = "topic", baseRepo = HERE, state = "open", author } = pull;
  const example = double.contract.example("pull-request") as { head: object; base: object; user: object };
  const user = author === undefined ? {} : { user: { ...example.user, login: author } };
  const repo = headRepo === null ? null : repositoryOf(double.contract, headRepo);
  const owner = headRepo?.split("/")[0] ?? "ghost";
  const head = { ...example.head, sha: headSha, ref: headRef, label: `${owner}:${headRef}`, repo };
  const base = { ...example.base, repo: repositoryOf(double.contract, baseRepo) };
  double.pulls.all.set(number, { headSha, overrides: { state, head, base, ...user } });
}

interface Ends {
  readonly state: string;
  readonly head: { readonly label: string };
}

/** The listing of pull requests, filtered by state and `owner:branch` as GitHub does: by name, whatever the commit. */
export function pullLookup(double: GitHubDouble): Routes {
  const render = (contract: GitHubContract, number: number, pull: DoublePull): object => {
    const [example] = contract.example("pull-request-simple-items") as unknown as readonly object[];
    return { ...example, number, requested_teams: [], ...pull.overrides };
  };
  return {
    [PULLS]: {
      GET: ({ request, contract, url }) => {
        const state = request.query.get("state") ?? "open";
        const head = request.query.get("head");
        const size = Math.min(100, Number(request.query.get("per_page") ?? 30));
        const page = Number(request.query.get("page") ?? 1);
        const all = [...double.pulls.all].filter(([, { overrides }]) => {
          const ends = overrides as unknown as Ends;
          return (state === "all" || ends.state === state) && (head === null || ends.head.label === head);
        });
        const link = `<${url}${request.path}?${new URLSearchParams({ ...Object.fromEntries(request.query), page: String(page + 1) })}>; rel="next"`;
        return {
          status: 200,
          body: all.slice((page - 1) * size, page * size).map(([number, pull]) => render(contract, number, pull)),
          headers: page * size < all.length ? { link } : {},
        };
      },
    },
  };
}
