import { runProcessStep } from "./process-step.ts";

// The engine is loaded when it is wanted: a step with wrong inputs ends without it.
await runProcessStep(async (inputs, io) => (await import("./gate-engine.ts")).gateEngine(inputs, io));
