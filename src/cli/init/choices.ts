import { usageError } from "../../core/errors.ts";

/** Who can open pull requests, which decides what the files contain about forks and pictures. */
export type Visibility = "public" | "private" | "unknown";

/** What the written files depend on. */
export interface Choices {
  /** Value of `runs-on` for the job that measures, as YAML. */
  readonly runsOn: string;
  /** Whether that is a self-hosted machine. */
  readonly ownRunner: boolean;
  readonly defaultBranch: string;
  readonly visibility: Visibility;
  /** Directory of `stormlog-gate.yml` from the top of the repository, without a slash at the end; empty at the top. */
  readonly directory: string;
  /** What follows `stormlog/gate…@`, a comment included. */
  readonly pin: string;
}

/** Runs where nothing has to be installed; what is measured there is host memory. */
const HOSTED_RUNNER = "ubuntu-24.04";
/** Labels that YAML reads as strings without quotes; `on` and `24` are not. */
const PLAIN = /^(?!(?:on|off|yes|no|y|n|true|false|null)$)[A-Za-z][A-Za-z0-9_.-]*$/i;

/** `runs-on` from `--runner`: one label, or several between commas. @throws GateError OPTION_INVALID (usage) */
export function runner(text: string | undefined): Pick<Choices, "runsOn" | "ownRunner"> {
  if (text === undefined) return { runsOn: HOSTED_RUNNER, ownRunner: false };
  const labels = text.split(",").map((label) => label.trim());
  // Labels are names; anything else could inject YAML.
  const wrong = labels.find((label) => !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(label));
  if (wrong !== undefined) {
    throw usageError(
      "OPTION_INVALID",
      `--runner has "${wrong}", which is not a runner label`,
      "Give a label as in --runner gpu, or several as in --runner self-hosted,gpu.",
    );
  }
  const written = labels.map((label) => (PLAIN.test(label) ? label : JSON.stringify(label)));
  return {
    runsOn: written.length === 1 ? (written[0] as string) : `[${written.join(", ")}]`,
    ownRunner: !labels.some((label) => /^(ubuntu|windows|macos)-/.test(label)),
  };
}

/** `--visibility`, or what was detected of the repository. @throws GateError OPTION_INVALID (usage) */
export function visibility(text: string | undefined): Visibility {
  switch (text) {
    case "public":
    case "private":
      return text;
    case undefined:
      return "unknown";
    default:
      throw usageError("OPTION_INVALID", `--visibility is "${text}"`, "It takes public or private.");
  }
}
