/** Environment variables as a value that is passed on; only entry points read `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether this is a job of a pipeline. By hand, the configuration is used as it is. */
export function inPipeline({ CI, GITHUB_ACTIONS }: Environment): boolean {
  return GITHUB_ACTIONS === "true" || (CI !== undefined && CI !== "" && CI !== "false" && CI !== "0");
}
