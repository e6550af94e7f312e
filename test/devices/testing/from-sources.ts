// Imported before the command line's test runner: what is tested here is the tree, not the bundle of some time ago.
process.env.STORMLOG_GATE_E2E ??= "sources";
