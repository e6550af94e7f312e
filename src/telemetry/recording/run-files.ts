/** Names of the files of a run directory, and of the probe's directory in it. */
export const RECORDING_FILE = "recording.json";
export const SAMPLES_FILE = "samples.parquet";
/** The record file; removed once its samples stand in Parquet. */
export const RAW_RECORD_FILE = "samples.rec";
export const OUTPUT_FILE = "output.log";
export const PROBE_FOLDER = "probe";
