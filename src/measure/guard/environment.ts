/** Carries the command's own NODE_OPTIONS past the guard, which must not run under them itself. */
export const GUARD_NODE_OPTIONS = "STORMLOG_GATE_NODE_OPTIONS";
/** Becomes the command's LD_PRELOAD: the launcher and the guard are not measured. */
export const PUT_ASIDE_PRELOAD = "STORMLOG_GATE_LD_PRELOAD";
