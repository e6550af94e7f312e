import { existsSync } from "node:fs";
import * as core from "@actions/core";
import { actionsArtifactStore, uploadBundle } from "../../github/artifact.ts";
import { runContext } from "../../github/run-context.ts";
import { recallForPost } from "./state.ts";

/** Runs after cancellation too; GitHub gives all post steps of a job five minutes together. */
const DEADLINE_MS = 60_000;

const left = recallForPost(core);
if (left !== null && existsSync(left.bundleDir)) {
  const upload = await uploadBundle(
    {
      store: actionsArtifactStore(),
      context: runContext(process.env),
      name: left.artifactName,
      retentionDays: left.retentionDays,
      deadline: { ms: DEADLINE_MS },
    },
    left.bundleDir,
  );
  if (upload.ok) core.info(`Uploaded the evidence bundle of the interrupted gate as ${upload.name}.`);
  else core.warning(upload.warning, { title: "Stormlog Gate" });
}
process.exit(0);
