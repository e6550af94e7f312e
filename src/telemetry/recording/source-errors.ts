import { getSystemErrorMap, getSystemErrorName } from "node:util";
import { ProbeTrouble, RecordSource } from "../../sampler/record-layout.ts";
import type { RecordedError } from "./record-columns.ts";

const SOURCE_NAMES = new Map<number, string>(Object.entries(RecordSource).map(([name, id]) => [id, name]));

/** Problems with a probe's files. `seen` counts lost records for the first, occurrences for the others. */
const PROBE_TROUBLES: Readonly<Record<ProbeTrouble, (seen: number) => string>> = {
  [ProbeTrouble.recordsLost]: (seen) => `${seen} samples were overwritten before they were read`,
  [ProbeTrouble.notARing]: () => "its file is not a probe's, or was overwritten",
  [ProbeTrouble.ringTruncated]: () => "its file was truncated",
  [ProbeTrouble.tooManyFiles]: () => "more processes with a probe than can be followed at once",
  [ProbeTrouble.tooManyDevices]: () => "more devices in one process than are followed",
  [ProbeTrouble.recordImpossible]: (seen) => `${seen} impossible samples were ignored`,
  [ProbeTrouble.stepUnreadable]: () => "the step file does not contain a number",
  [ProbeTrouble.directoryTooLarge]: () => "more files in the probe's directory than are read",
  [ProbeTrouble.fileUnreadable]: () => "its file cannot be opened",
};

function isProbeTrouble(code: number): code is ProbeTrouble {
  return Object.hasOwn(PROBE_TROUBLES, code);
}

/** Meaning of common NVML return codes (nvmlReturn_t). */
const NVML_ANSWERS: Readonly<Record<number, string>> = {
  1: "the library is not initialised",
  2: "an argument is not valid",
  3: "not supported",
  4: "no permission",
  6: "not found",
  9: "the driver is not loaded",
  10: "no answer in time",
  15: "the GPU is lost",
  16: "the GPU needs a reset",
  17: "the operating system refused it",
  18: "library and driver are of different versions",
  28: "the GPU is not found",
  999: "unknown error",
};

/** Sources whose numbers are devices. Those of the others are processes. */
const OF_DEVICES = new Set<number>([RecordSource.nvml, RecordSource.amd, RecordSource.apple]);
/** Sources whose numbers are processes, and with code 1 devices. */
const OF_BOTH = new Set<number>([RecordSource.fdinfo, RecordSource.kfd]);

const ofDevice = ({ source, detail }: RecordedError): boolean =>
  OF_DEVICES.has(source) || (OF_BOTH.has(source) && detail === 1);

/** "nvml device 0: Permission denied (EACCES), 12 times". */
export function errorText(error: RecordedError): string {
  const { source, id, detail, seen } = error;
  const name = SOURCE_NAMES.get(source) ?? `source ${source}`;
  const subject = id < 0 ? "" : ofDevice(error) ? ` device ${id}` : ` pid ${id}`;
  if (source === RecordSource.probe && isProbeTrouble(detail)) {
    const cause = error.errno === 0 ? "" : `: ${causeText(error)}`;
    return `${name}${subject}: ${PROBE_TROUBLES[detail](seen)}${cause}`;
  }
  const times = seen > 1 ? `, ${seen} times` : "";
  return `${name}${subject}: ${causeText(error)}${times}`;
}

function causeText({ source, errno, detail }: RecordedError): string {
  const answer = source === RecordSource.nvml ? NVML_ANSWERS[detail] : undefined;
  if (errno === 0 && answer !== undefined) return `${answer} (code ${detail})`;
  if (errno === 0) return detail === 0 ? "failed" : `failed with code ${detail}`;
  const words = getSystemErrorMap().get(-errno);
  return words ? `${words[1]} (${words[0]})` : `errno ${getSystemErrorName(-errno) || errno}`;
}

/** Problems after which nothing more is read from a ring. */
const RING_LOST = new Set<number>([ProbeTrouble.notARing, ProbeTrouble.ringTruncated]);

/** The processes of which a ring was lost during the run. */
export function lostRings(errors: readonly RecordedError[]): ReadonlySet<number> {
  const lost = errors.filter(({ source, detail }) => source === RecordSource.probe && RING_LOST.has(detail));
  return new Set(lost.map(({ id }) => id));
}

const MAX_REPORTED = 5;

/** Missing samples of the probes, one sentence per cause and process. The last count of each is the total. */
export function probeLosses(errors: readonly RecordedError[]): string[] {
  const last = new Map<string, RecordedError>();
  for (const error of errors) {
    if (error.source === RecordSource.probe) last.set(`${error.id} ${error.detail} ${error.errno}`, error);
  }
  const texts = [...last.values()].map(errorText);
  const more =
    texts.length > MAX_REPORTED ? [`${texts.length - MAX_REPORTED} more problems with files of the probe`] : [];
  return [...texts.slice(0, MAX_REPORTED), ...more];
}
