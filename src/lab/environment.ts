import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { LabDocument } from "./report/document.ts";

/** Where something of the lab was measured, as its documents tell it. */
export type LabEnvironment = Pick<LabDocument, "backend" | "device_model" | "framework_version">;

const word = (value: Fingerprint[string] | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/**
 * A fingerprint in the words of the lab's documents; null for what is not known. Without a device the processor is its
 * model.
 */
export function labEnvironment(fingerprint: Fingerprint): LabEnvironment {
  const framework = [word(fingerprint.framework), word(fingerprint.framework_version)];
  return {
    backend: word(fingerprint.backend),
    device_model: word(fingerprint.device_model) ?? word(fingerprint.cpu),
    framework_version: framework.filter((part) => part !== null).join(" ") || null,
  };
}
