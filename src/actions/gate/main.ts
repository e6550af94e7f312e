import "../closed-process.ts";

import { runGateStep } from "./step.ts";

// Loaded when measuring begins: a step with wrong inputs ends without the gate, its configuration's parser and its
// sampler.
await runGateStep(async (run) => (await import("./engine.ts")).measure(run));
