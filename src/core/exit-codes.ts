/**
 * Exit codes of every command. They are part of the public contract and are never renumbered; the values 0 to 5 and 130
 * follow the exit contract of Stormlog's own reports, 6 is ours ("nothing comparable" is neither pass nor fail).
 */
export const ExitCode = {
  pass: 0,
  /** The work could not be done, or the measured command failed or timed out. */
  error: 1,
  usage: 2,
  /** Findings that do not fail the gate (or the gate was not asked). */
  findings: 3,
  gateFailed: 4,
  invalidInput: 5,
  unjudged: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** The only pairs of status and exit code a report may have. */
export const STATUS_EXIT = {
  pass: ExitCode.pass,
  error: ExitCode.error,
  usage: ExitCode.usage,
  findings: ExitCode.findings,
  gate_failed: ExitCode.gateFailed,
  invalid_input: ExitCode.invalidInput,
  interrupted: ExitCode.interrupted,
} as const;
export type ReportStatus = keyof typeof STATUS_EXIT;
