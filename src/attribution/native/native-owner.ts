import path from "node:path";
import type { Mapping, NativeStack } from "../../snapshot/growth/native-document.ts";
import type { Frame } from "../../snapshot/model/frames.ts";
import { firstIndex } from "../../telemetry/recording/common-clock.ts";

/** Allocators and the run-time libraries that call them for a program: no cause of a growth. */
const RUNTIME =
  /^(?:ld-linux|libc\.|libc-|libm\.|libpthread|libdl\.|librt\.|libstdc\+\+|libc\+\+|libgcc_s|libffi|libgomp|libstormlog_|\[)/;
/** tracemalloc sees what the interpreter itself allocates. */
const INTERPRETER = /^(?:lib)?python[23](?:\.\d+)?(?:[.-]|$)|^libpython/;

const isInterpreterFile = (file: string): boolean => INTERPRETER.test(path.basename(file));

/** A call in a program or library. */
export interface ModuleOffset {
  /** Absolute path of the file. */
  readonly path: string;
  readonly offset: number;
}

/** The frame that a stack's memory is counted at, with the allocating place in a module. */
export interface OwnedStack {
  readonly frame: Frame;
  readonly python: boolean;
  /** The function that the Python line calls; null when unknown. */
  readonly called: string | null;
  /** Null where only the C library and the like are on the stack. */
  readonly place: ModuleOffset | null;
  /** Whether the interpreter itself allocates. */
  readonly isInterpreter: boolean;
}

export type Placed = OwnedStack & { readonly place: ModuleOffset };

/**
 * Where memory is counted: at the innermost line of the user's, else at the innermost place; null where unknown. Of the
 * user's own compiled code, functions that only make memory for their callers are passed over.
 */
export function ownedBy(
  stack: NativeStack,
  mappings: readonly Mapping[],
  isUserFrame: (frame: Frame) => boolean,
  passesOn: (place: ModuleOffset) => boolean = () => false,
): OwnedStack | null {
  const places = stack.native.flatMap((address) => {
    const place = placeAt(address, mappings);
    return place === null || RUNTIME.test(path.basename(place.path)) ? [] : [place];
  });
  const [innermost] = places;
  const isInterpreter = stack.isPython || innermost === undefined || isInterpreterFile(innermost.path);
  const line = stack.python.find(isUserFrame);
  if (line !== undefined) {
    const frame = { file: line.file, line: line.line, function: line.function };
    return { frame, python: true, called: line.called, place: innermost ?? null, isInterpreter };
  }
  if (innermost === undefined) return null;
  const own = places.filter((place) =>
    isUserFrame({ file: place.path.replace(/\.so[.\d]*$/, ""), line: 1, function: "" }),
  );
  const place = stack.python.length > 0 ? innermost : (own.find((one) => !passesOn(one)) ?? own[0] ?? innermost);
  // Its line is found later, where it matters; until then the place in the file stands for it.
  const frame = { file: place.path, line: place.offset, function: "" };
  return { frame, python: false, called: null, place, isInterpreter };
}

/** Functions of the interpreter that run code of the program: what is further out may have called that code. */
const RUNS_CODE = /Eval|Vectorcall|PyObject_Call|PyFunction|TAIL_CALL/i;

/**
 * The place in a library that the innermost Python line calls, and that allocates: with its own means, or with the
 * interpreter's. Null where the interpreter alone allocates, and where it may have run other code in between.
 * @param symbolAt name of a function of the interpreter; null when unknown
 */
export function calledPlace(
  { native }: NativeStack,
  mappings: readonly Mapping[],
  symbolAt: (place: ModuleOffset) => string | null,
): ModuleOffset | null {
  for (const address of native) {
    const place = placeAt(address, mappings);
    if (place === null) return null;
    if (RUNTIME.test(path.basename(place.path))) continue;
    if (!isInterpreterFile(place.path)) return place;
    if (RUNS_CODE.test(symbolAt(place) ?? "")) return null;
  }
  return null;
}

/** The file that contains the call before a return address. */
function placeAt(address: number, mappings: readonly Mapping[]): ModuleOffset | null {
  const call = address - 1;
  const found = mappings[firstIndex(mappings.length, (i) => mappings[i]!.start <= call) - 1];
  return found === undefined || call >= found.end
    ? null
    : { path: found.path, offset: call - found.start + found.offset };
}
