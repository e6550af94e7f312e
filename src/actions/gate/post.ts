import { existsSync } from "node:fs";
import { actionsArtifactStore, uploadBundle } from "../../github/artifacts/artifact.ts";
import { runContext } from "../../github/run-context.ts";
import { actionsRunner } from "./actions-runner.ts";
import { recallForPost } from "./state.ts";

/** Runs after cancellation too; GitHub gives all post steps of a job five minutes together. */
const DEADLINE_MS = 60_000;

const left = recallForPost(actionsRunner);
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
  if (upload.ok) actionsRunner.info(`Uploaded the evidence bundle of the interrupted gate as ${upload.name}.`);
  else actionsRunner.warning(upload.warning, { title: "Stormlog Gate" });
}
process.exit(0);
