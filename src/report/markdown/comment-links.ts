import type { Section } from "../model/section.ts";
import { linkTarget } from "./markdown-text.ts";

/** The pages of a workflow run; null = unknown run. */
export interface RunPages {
  readonly repositoryUrl: string;
  readonly runId: number | null;
}

interface EvidenceUrls {
  readonly bundleUrl?: string | null;
  readonly htmlUrl?: string | null;
}

/** Addresses of a section's uploads, made from ids alone; null without an upload or where the run is unknown. */
export function evidenceUrls(
  section: Pick<Section, "bundleArtifact" | "timelineArtifact">,
  { repositoryUrl, runId }: RunPages,
): Required<EvidenceUrls> {
  const page = (id: number | null) =>
    id === null || runId === null ? null : `${repositoryUrl}/actions/runs/${runId}/artifacts/${id}`;
  return { bundleUrl: page(section.bundleArtifact), htmlUrl: page(section.timelineArtifact) };
}

/** Links to the uploaded evidence. */
export function evidenceLinks(
  { htmlUrl, bundleUrl }: EvidenceUrls,
  names: { readonly html: string; readonly bundle: string },
): string[] {
  const link = (name: string, target: string | null) => (target === null ? [] : [`[${name}](${target})`]);
  return [...link(names.html, linkTarget(htmlUrl)), ...link(names.bundle, linkTarget(bundleUrl))];
}
