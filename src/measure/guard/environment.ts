/** Carries the command's own NODE_OPTIONS past the guard, which must not run under them itself. */
export const GUARD_NODE_OPTIONS = "STORMLOG_GATE_NODE_OPTIONS";
