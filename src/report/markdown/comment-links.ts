import type { Section } from "../documents/section.ts";

/** Addresses of what a section's job uploaded, made from ids alone; null where it uploaded nothing or its run is unknown. */
export function evidenceUrls(
  section: Pick<Section, "bundleArtifact" | "timelineArtifact">,
  { repositoryUrl, runId }: { readonly repositoryUrl: string; readonly runId: number | null },
): { readonly bundleUrl: string | null; readonly htmlUrl: string | null } {
  const page = (id: number | null) =>
    id === null || runId === null ? null : `${repositoryUrl}/actions/runs/${runId}/artifacts/${id}`;
  return { bundleUrl: page(section.bundleArtifact), htmlUrl: page(section.timelineArtifact) };
}
