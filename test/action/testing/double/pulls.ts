import { NOT_FOUND, type Routes } from "./route.ts";

export const PULL = "/repos/{owner}/{repo}/pulls/{pull_number}";

/** What may be set of a pull request; everything else is as in GitHub's official example. */
export interface DoublePull {
  headSha: string;
  readonly overrides?: Readonly<Record<string, unknown>>;
}

/** Pull requests of one repository. */
export class Pulls {
  readonly all = new Map<number, DoublePull>();

  readonly routes: Routes = {
    [PULL]: {
      GET: ({ parameters, contract }) => {
        const number = Number(parameters.pull_number);
        const pull = this.all.get(number);
        if (pull === undefined) return NOT_FOUND;
        return { status: 200, body: renderPull(contract.example("pull-request"), number, pull) };
      },
    },
  };
}

function renderPull(example: Readonly<Record<string, unknown>>, number: number, pull: DoublePull): object {
  const head = { ...(example.head as object), sha: pull.headSha };
  // The official example lacks fields that its schema requires for teams; without teams it is complete.
  return { ...example, number, requested_teams: [], head, ...pull.overrides };
}
