import { ran, workflowTool } from "./tools.ts";

/** actionlint has no list of labels of self-hosted runners. */
const OWN_LABELS = 'label ".+" is unknown';

/** Findings of actionlint in these files, one line each. */
export function actionlintFindings(cwd: string, files: readonly string[]): readonly string[] {
  const binary = workflowTool("actionlint");
  if (binary === null) throw new Error("actionlint is not there");
  const args = ["-no-color", "-oneline", "-ignore", OWN_LABELS, ...files];
  const { code, stdout, stderr } = ran(binary, args, { cwd });
  if (code !== 0 && code !== 1) throw new Error(`actionlint: ${stderr}`);
  return stdout.split("\n").filter(Boolean);
}

interface ZizmorFinding {
  readonly ident: string;
  readonly desc: string;
  readonly ignored: boolean;
  readonly locations: readonly { readonly symbolic: { readonly key: Readonly<Record<string, unknown>> } }[];
}

/** Findings of zizmor, pedantic and offline. An unreadable file is an error. */
export function zizmorFindings(cwd: string, inputs: readonly string[]): readonly string[] {
  const binary = workflowTool("zizmor");
  if (binary === null) throw new Error("zizmor is not there");
  const args = ["--offline", "--pedantic", "--no-exit-codes", "--strict-collection", "--format=json", ...inputs];
  const { code, stdout, stderr } = ran(binary, args, { cwd });
  if (code !== 0) throw new Error(`zizmor: ${stderr}`);
  const findings: readonly ZizmorFinding[] = JSON.parse(stdout);
  return findings
    .filter(({ ignored }) => !ignored)
    .map(({ ident, desc, locations }) => `${ident}: ${desc} ${JSON.stringify(locations[0]?.symbolic.key)}`);
}
