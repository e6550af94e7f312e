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
