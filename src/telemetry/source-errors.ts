import { getSystemErrorMap, getSystemErrorName } from "node:util";
import { ProbeTrouble, RecordSource } from "../sampler/record-layout.ts";
import type { RecordedError } from "./recording/record-columns.ts";

const SOURCE_NAMES = new Map<number, string>(Object.entries(RecordSource).map(([name, id]) => [id, name]));

/** What went wrong with a probe's files; `seen` counts records lost for the first, happenings for the others. */
const PROBE_TROUBLES: Readonly<Record<ProbeTrouble, (seen: number) => string>> = {
  [ProbeTrouble.recordsLost]: (seen) => `${seen} samples were overwritten before they were read`,
  [ProbeTrouble.notARing]: () => "its file is not a probe's, or was written over",
  [ProbeTrouble.ringTruncated]: () => "its file was cut",
  [ProbeTrouble.tooManyFiles]: () => "more processes with a probe than can be followed at once",
  [ProbeTrouble.tooManyDevices]: () => "more devices in one process than are followed",
  [ProbeTrouble.recordImpossible]: (seen) => `${seen} impossible samples were not taken`,
  [ProbeTrouble.stepUnreadable]: () => "the step file does not hold a number",
  [ProbeTrouble.directoryTooLarge]: () => "more files in the probe's directory than are looked through",
  [ProbeTrouble.fileUnreadable]: () => "its file cannot be opened",
};

function isProbeTrouble(code: number): code is ProbeTrouble {
  return Object.hasOwn(PROBE_TROUBLES, code);
}

/** What NVML's commoner answers mean (nvmlReturn_t). */
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

/** Sources whose numbers are devices; those of the others are processes. */
const OF_DEVICES = new Set<number>([RecordSource.nvml, RecordSource.amd, RecordSource.dmem, RecordSource.apple]);
/** Sources that speak of processes, and with code 1 of devices. */
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

const MAX_REPORTED = 5;

/** What of the probe's samples is missing, one sentence for each cause and process; the last count of each is the whole. */
export function probeLosses(errors: readonly RecordedError[]): string[] {
  const last = new Map<string, RecordedError>();
  for (const error of errors) {
    if (error.source === RecordSource.probe) last.set(`${error.id} ${error.detail} ${error.errno}`, error);
  }
  const texts = [...last.values()].map(errorText);
  const more =
    texts.length > MAX_REPORTED ? [`${texts.length - MAX_REPORTED} more troubles with files of the probe`] : [];
  return [...texts.slice(0, MAX_REPORTED), ...more];
}
