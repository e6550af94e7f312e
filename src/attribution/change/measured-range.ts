import { certainBase, type History } from "../../baseline/ancestors.ts";
import { inPipeline } from "../../core/process/environment.ts";
import { git, holding } from "../../git/git.ts";

/** The commits between which a change is looked at. */
interface MeasuredRange {
  /** Top of the work tree. */
  readonly top: string;
  /** The commit where the measured code left the main branch. */
  readonly base: string;
  /** In a job, files that differ from the commit were changed by the job, not by the pull request. */
  readonly isJob: boolean;
}

/** The range of the measured change; null where it is unknown, or the job measures the base itself. */
export async function measuredRange(history: History): Promise<MeasuredRange | null> {
  const known = await holding(history.cwd);
  // The changes of a submodule are those of another project.
  if (typeof known === "string" || known.repository.isSubmodule) return null;
  const { top } = known.repository;
  const base = await certainBase(history);
  if (base === null) return null;
  const isJob = inPipeline(history.env);
  const head = isJob ? await git(top, ["rev-parse", "HEAD"]) : null;
  return head?.ok === true && head.stdout === base ? null : { top, base, isJob };
}
