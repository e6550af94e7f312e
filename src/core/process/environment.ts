/** Environment variables as a value that is passed on; only entry points read `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether this is a job of a pipeline. By hand, the configuration is used as it is. */
export function inPipeline(env: Environment): boolean {
  return isWorkflow(env) || (env.CI !== undefined && !["", "0", "false"].includes(env.CI));
}

/** Whether this is a step of GitHub Actions. */
export const isWorkflow = ({ GITHUB_ACTIONS }: Environment): boolean => GITHUB_ACTIONS === "true";

/** What a CI system's variables contain about the job; null where it has none. */
export interface CiJob {
  /** The commit and the full ref that triggered it. */
  readonly commit: string | null;
  readonly ref: string | null;
  readonly eventName: string | null;
  /** File with the event's payload. */
  readonly eventFile: string | null;
  /** The branch that a pull request is to be merged into. */
  readonly targetBranch: string | null;
  /** Directory of the checkout. */
  readonly workspace: string | null;
  /** Directory that the system empties after the job. */
  readonly temporary: string | null;
  /** Directory of the tools that the machine keeps for later jobs. */
  readonly tools: string | null;
  readonly run: { readonly id: string; readonly attempt: string; readonly job: string } | null;
  /** By which the system finds what the job left, in `RUNNER_TRACKING_ID`. */
  readonly tracking: string | null;
}

/** The variables of GitHub Actions. The rooms below the Actions read no others; another system is added here. */
export function ciJob(env: Environment): CiJob {
  const value = (name: string): string | null => env[name] || null;
  const id = value("GITHUB_RUN_ID");
  return {
    commit: value("GITHUB_SHA"),
    ref: value("GITHUB_REF"),
    eventName: value("GITHUB_EVENT_NAME"),
    eventFile: value("GITHUB_EVENT_PATH"),
    targetBranch: value("GITHUB_BASE_REF"),
    workspace: value("GITHUB_WORKSPACE"),
    temporary: value("RUNNER_TEMP"),
    tools: value("RUNNER_TOOL_CACHE"),
    run: id === null ? null : { id, attempt: value("GITHUB_RUN_ATTEMPT") ?? "1", job: value("GITHUB_JOB") ?? "job" },
    tracking: value("RUNNER_TRACKING_ID"),
  };
}

/** The environment of a job for a pull request into this branch. */
export const withTargetBranch = (env: Environment, branch: string): Environment => ({
  ...env,
  GITHUB_BASE_REF: branch,
});
