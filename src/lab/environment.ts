import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { LabDocument } from "./report/document.ts";

/** The environment that a document of the lab reports. */
export type LabEnvironment = Pick<LabDocument, "backend" | "device_model" | "framework_version">;

const nonEmpty = (value: Fingerprint[string] | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** A fingerprint as fields of the lab's documents, null where unknown. Without a device the model is the CPU's. */
export function labEnvironment(fingerprint: Fingerprint): LabEnvironment {
  const framework = [nonEmpty(fingerprint.framework), nonEmpty(fingerprint.framework_version)];
  return {
    backend: nonEmpty(fingerprint.backend),
    device_model: nonEmpty(fingerprint.device_model) ?? nonEmpty(fingerprint.cpu),
    framework_version: framework.filter((part) => part !== null).join(" ") || null,
  };
}
