import { existsSync } from "node:fs";
import { warning } from "@actions/core";
import { runContext } from "../../github/api/run-context.ts";
import { actionsArtifactStore, uploadBundle } from "../../github/artifacts/artifact.ts";
import { log } from "../log.ts";
import { recallForPost } from "./state.ts";

/** Runs after cancellation too; GitHub gives all post steps of a job five minutes together. */
const DEADLINE_MS = 60_000;

async function uploadLeft(): Promise<never> {
  const left = recallForPost();
  if (left === null || !existsSync(left.bundleDir)) process.exit(0);
  const { bundleDir, artifactName: name, retentionDays } = left;
  const upload = await uploadBundle(
    {
      store: actionsArtifactStore(),
      context: runContext(process.env),
      name,
      retentionDays,
      deadline: { ms: DEADLINE_MS },
    },
    bundleDir,
  );
  if (upload.ok) log(`Uploaded the evidence bundle of the interrupted gate as ${upload.name}.`);
  else warning(upload.warning, { title: "Stormlog Gate" });
  process.exit(0);
}

export const done = uploadLeft();
