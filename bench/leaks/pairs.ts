/** A release that leaked and the first that does not. Growth is per call of the program, after warm-up. */
export interface Pair {
  readonly name: string;
  readonly runtime: "python" | "node";
  readonly package: string;
  /** Name of its directory among the installed packages, where it is another. */
  readonly directory?: string;
  readonly leaky: string;
  readonly fixed: string;
  /** Requirements beside the package, pinned. */
  readonly beside?: readonly string[];
  /** The program without its suffix. */
  readonly program: string;
  /** Oldest and newest minor version of Python 3 for which wheels of both releases exist. */
  readonly pythons?: readonly [number, number];
  /** Bytes that one call leaks, or null for memory that is kept up to a level and then rests. */
  readonly bytesPerCall: number | null;
  /** Where the leak was reported. */
  readonly thread: string;
}

/** Calls of a program whose memory rests at a level. */
const RETAINED_CALLS = 400;

/** Bytes per call were measured with CPython 3.11 and Node 20 on x86-64 Linux. */
export const PAIRS: readonly Pair[] = [
  {
    name: "numpy",
    runtime: "python",
    package: "numpy",
    leaky: "2.3.1",
    fixed: "2.3.2",
    program: "numpy_cumsum",
    pythons: [11, 14],
    bytesPerCall: 8048,
    thread: "numpy/numpy#29355",
  },
  {
    name: "pandas",
    runtime: "python",
    package: "pandas",
    leaky: "2.2.0",
    fixed: "2.2.1",
    beside: ["numpy==1.26.4"],
    program: "pandas_read_csv",
    pythons: [9, 12],
    // Between 6 and 18 kB, late and uneven.
    bytesPerCall: 12_000,
    thread: "pandas-dev/pandas#57039",
  },
  {
    name: "pyarrow",
    runtime: "python",
    package: "pyarrow",
    leaky: "21.0.0",
    fixed: "22.0.0",
    beside: ["pandas==2.3.3", "numpy==2.2.6"],
    program: "pyarrow_to_pandas",
    pythons: [10, 13],
    bytesPerCall: null,
    thread: "apache/arrow#47702",
  },
  {
    name: "pydantic",
    runtime: "python",
    package: "pydantic",
    leaky: "2.7.0",
    fixed: "2.7.1",
    program: "pydantic_iterable",
    pythons: [8, 12],
    bytesPerCall: 788,
    thread: "pydantic/pydantic#9243",
  },
  {
    name: "tokenizers",
    runtime: "python",
    package: "tokenizers",
    leaky: "0.20.3",
    fixed: "0.21.0",
    program: "tokenizers_encode",
    pythons: [9, 13],
    bytesPerCall: 132_000,
    thread: "huggingface/tokenizers#1539",
  },
  {
    name: "msgspec-tuple",
    runtime: "python",
    package: "msgspec",
    leaky: "0.14.1",
    fixed: "0.14.2",
    program: "msgspec_tuple",
    pythons: [9, 11],
    bytesPerCall: 257,
    thread: "jcrist/msgspec#379",
  },
  {
    name: "msgspec-raw",
    runtime: "python",
    package: "msgspec",
    leaky: "0.18.6",
    fixed: "0.19.0",
    program: "msgspec_raw",
    pythons: [9, 12],
    bytesPerCall: 4100,
    thread: "jcrist/msgspec#709",
  },
  {
    name: "ujson",
    runtime: "python",
    package: "ujson",
    leaky: "5.11.0",
    fixed: "5.12.0",
    program: "ujson_loads",
    pythons: [10, 14],
    bytesPerCall: 420,
    thread: "none",
  },
  {
    name: "multidict",
    runtime: "python",
    package: "multidict",
    leaky: "6.3.1",
    fixed: "6.4.0",
    program: "multidict_del",
    pythons: [9, 13],
    bytesPerCall: 1200,
    thread: "aio-libs/multidict#1117",
  },
  {
    name: "aiohttp",
    runtime: "python",
    package: "aiohttp",
    leaky: "3.10.10",
    fixed: "3.10.11",
    program: "aiohttp_middleware",
    pythons: [8, 13],
    bytesPerCall: 9400,
    thread: "CVE-2024-52303",
  },
  {
    name: "undici",
    runtime: "node",
    package: "undici",
    leaky: "5.14.0",
    fixed: "5.15.0",
    program: "undici_signal",
    bytesPerCall: 15_000,
    thread: "nodejs/node#46435",
  },
  {
    name: "grpc-js",
    runtime: "node",
    package: "@grpc/grpc-js",
    leaky: "1.4.2",
    fixed: "1.4.4",
    program: "grpc_channel",
    bytesPerCall: 7400,
    thread: "grpc/grpc-node#1958",
  },
];

/** Growth in bytes and length in seconds of the runs that the gate judges. */
export const SIZES = { big: { bytes: 32 * 2 ** 20, seconds: 8 }, small: { bytes: 4 * 2 ** 20, seconds: 10 } } as const;
export type Size = keyof typeof SIZES;

export type State = "leaky" | "fixed" | "newest";

/** Calls that make a leak of the size. */
export function callsOf({ bytesPerCall }: Pair, size: Size): number {
  return bytesPerCall === null ? RETAINED_CALLS : Math.round(SIZES[size].bytes / bytesPerCall);
}

/** What is installed for a state, as the package manager reads it. */
export function requirementsOf(pair: Pair, state: State): readonly string[] {
  const separator = pair.runtime === "python" ? "==" : "@";
  if (state === "newest") return [pair.runtime === "python" ? pair.package : `${pair.package}@latest`];
  return [`${pair.package}${separator}${pair[state]}`, ...(pair.beside ?? [])];
}
