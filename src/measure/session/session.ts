import { createHash, randomBytes } from "node:crypto";
import { usageError } from "../../core/errors.ts";
import { ciJob, type Environment } from "../../core/process/environment.ts";
import { inSlurmStep, restarts, setting } from "../environment/launcher-environment.ts";

/** 128 random bits as hexadecimal digits. */
export function randomId(): string {
  return randomBytes(16).toString("hex");
}

/** Whether a session has a given name, or one drawn by {@link randomId}. */
export function isNamedSession(session: string): boolean {
  return !/^[0-9a-f]{32}$/.test(session);
}

/**
 * A session as a baseline keeps it. A later job may reuse a torchrun or Kubernetes name, and its runs would pass for
 * base runs of the same session, so the name gets the time of measurement. @param timeIso ISO 8601
 */
export function keptSession(session: string, timeIso: string): string {
  return /^(?:torchrun|kubernetes)-/.test(session) ? `${session}@${timeIso}` : session;
}

const MAX_CHARACTERS = 200;

/** Outside text as part of a name: blanks and unprintable characters become "_", and a long text ends in its digest. */
function namePart(text: string): string {
  const plain = text.replace(/[^\x21-\x7e]/g, "_");
  if (plain.length <= 100) return plain;
  return `${plain.slice(0, 80)}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** A job's step, the same on all of its nodes; in the batch script itself the job. */
function slurmSession(env: Environment): string | null {
  const job = setting(env, "SLURM_JOB_ID") ?? setting(env, "SLURM_JOBID");
  if (job === null) return null;
  const step = inSlurmStep(env) ? `.${setting(env, "SLURM_STEP_ID") ?? setting(env, "SLURM_STEPID")}` : "";
  return `slurm-${namePart(job)}${step}`;
}

/** torchrun's id of a job; it calls a job without an id "none". */
function elasticSession(env: Environment): string | null {
  const id = setting(env, "TORCHELASTIC_RUN_ID") ?? setting(env, "PET_RDZV_ID");
  return id === null || id === "none" ? null : `torchrun-${namePart(id)}`;
}

/** Open MPI numbers jobs from the launcher's process id; the launcher's address separates two with one number. */
function mpiSession(env: Environment): string | null {
  const job =
    setting(env, "PMIX_NAMESPACE") ??
    setting(env, "OMPI_MCA_ess_base_jobid") ??
    setting(env, "OMPI_MCA_orte_ess_jobid");
  if (job === null) return null;
  const launcher = setting(env, "OMPI_MCA_orte_hnp_uri");
  const suffix = launcher === null ? "" : `-${createHash("sha256").update(launcher).digest("hex").slice(0, 12)}`;
  return `mpi-${namePart(job)}${suffix}`;
}

/** The pods of an indexed job have its name with their index at the end. */
function podSession(env: Environment): string | null {
  const index = setting(env, "JOB_COMPLETION_INDEX");
  const host = setting(env, "HOSTNAME");
  if (index === null || host === null || !host.endsWith(`-${index}`)) return null;
  return `kubernetes-${namePart(host.slice(0, -index.length - 1))}`;
}

/** A runner may live within one job of a cluster, and workflows may reuse a job's name, so each run gets its own. */
function workflowPart(env: Environment): string {
  const { run } = ciJob(env);
  return run === null ? "" : `-github-${run.id}-${run.attempt}`;
}

function workflowSession(env: Environment): string | null {
  const { run, tracking } = ciJob(env);
  if (run === null) return null;
  return ["github", run.id, run.attempt, run.job, ...(tracking === null ? [] : [tracking])].join("-");
}

/**
 * Name of the session: runs that belong to one job, on all of its nodes. `STORMLOG_GATE_SESSION` decides where it is
 * set, then the launcher's name of the job (Slurm's job and step, torchrun's run id, the MPI job, an indexed Kubernetes
 * job), with `-r1` and so on for a restarted one. In a workflow it is the job's run, attempt and name (with the
 * runner's tracking id, since matrix legs share the rest); elsewhere every invocation is a session.
 * @throws GateError SESSION_INVALID (usage) when the variable holds blanks, control characters or more than 200
 *   characters
 */
export function sessionId(env: Environment): string {
  const named = env.STORMLOG_GATE_SESSION;
  if (named !== undefined && named !== "") {
    if (!/^[\x21-\x7e]{1,200}$/.test(named)) {
      throw usageError(
        "SESSION_INVALID",
        "STORMLOG_GATE_SESSION is not a usable name",
        `Use 1 to ${MAX_CHARACTERS} printable ASCII characters without blanks.`,
      );
    }
    // The name must not look like a drawn one.
    return isNamedSession(named) ? named : `named-${named}`;
  }
  // In a Slurm job `mpirun` starts its own node's ranks outside a step, and others in a step of its daemons.
  const mpi = mpiSession(env);
  const inner = setting(env, "OMPI_COMM_WORLD_RANK") === null ? null : mpi;
  const launched = inner ?? slurmSession(env) ?? elasticSession(env) ?? mpi ?? podSession(env);
  if (launched !== null) {
    const again = restarts(env);
    const name = launched.startsWith("mpi-") ? launched : `${launched}${workflowPart(env)}`;
    return again === 0 ? name : `${name}-r${again}`;
  }
  return workflowSession(env) ?? randomId();
}
