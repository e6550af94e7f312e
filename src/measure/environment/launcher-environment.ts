import type { Environment } from "../../core/process/environment.ts";

/** Numbers from here on are not launched steps: Slurm uses them for its batch script and other internal steps. */
const FIRST_SPECIAL_STEP = 4_294_967_280;

/** A variable's value without blanks around it; null when it is not set or empty. */
export function setting(env: Environment, name: string): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === "" ? null : value;
}

/** Whether `srun` launched this process; a job's batch script was not launched by it, although it has its variables. */
export function inSlurmStep(env: Environment): boolean {
  const step = setting(env, "SLURM_STEP_ID") ?? setting(env, "SLURM_STEPID");
  return step !== null && /^\d{1,10}$/.test(step) && Number(step) < FIRST_SPECIAL_STEP;
}

/** How often the job, or the workers of an elastic one, were restarted; 0 where unknown. */
export function restarts(env: Environment): number {
  const counts = ["SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"].map((name) => Number(setting(env, name) ?? 0));
  return counts.reduce((sum, count) => sum + (Number.isSafeInteger(count) && count > 0 ? count : 0), 0);
}
