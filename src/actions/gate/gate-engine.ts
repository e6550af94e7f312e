import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import { runGate } from "../../gate/run-gate.ts";
import { engineInterrupt } from "../engine-interrupt.ts";
import type { Engine } from "./engine.ts";
import { gitHubPorts } from "./github-ports.ts";

/** The same engine as the command line's `run`, with the bundle where the post step will look for it. */
export const gateEngine: Engine = async (inputs, io) =>
  runGate(
    { ...gateRequestFromInputs({ ...inputs }, io.env), bundle: io.bundleDir },
    {
      log: io.log,
      stdout: io.stdout,
      stderr: io.stderr,
      progress: null,
      interrupt: engineInterrupt(io.interrupt),
      now: () => new Date(),
      ...gitHubPorts({ token: inputs.token, env: io.env, signal: io.interrupt, log: io.log }),
    },
  );
