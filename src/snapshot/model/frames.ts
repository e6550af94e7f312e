/** One call on a stack. */
export interface Frame {
  /** As the source recorded it, or relative to the repository once {@link relativePath} was applied. */
  readonly file: string;
  /** 1-based; 0 when unknown. */
  readonly line: number;
  readonly function: string;
}

/** Memory that was allocated before recording began, or by a thread without Python. */
export const NO_FRAMES: Frame = { file: "<no stack>", line: 0, function: "" };

/** Memory of a backward pass whose call the recording does not have. */
export const BACKWARD_PASS: Frame = { file: "<backward pass>", line: 0, function: "" };

export const isPython = ({ file }: Frame): boolean => /\.pyx?$/.test(file);
/** PyTorch's autograd engine, which has a thread for each device. */
export const isEngine = ({ function: name }: Frame): boolean => /\btorch::autograd::(?:\w+::)?\w*Engine::/.test(name);

/** The identity of a source line. */
export const lineKey = ({ file, line, function: name }: Frame): string => `${file}\0${line}\0${name}`;

const FOREIGN_FOLDER =
  /(?:^|\/)(?:site-packages|dist-packages|node_modules)\/|(?:^|\/)lib(?:64)?\/(?:python|pypy)3[\d.]*\/|\/Python3\d*\/Lib\/|\/Python\.framework\/Versions\/3[\d.]*\/lib\//;
const GENERATED = /^(?:$|\?\?|<frozen|<built-in|<__array_function__|<eval_with_key|<no stack>|<backward pass>|node:)/;
/** PyTorch from its source tree, where no site-packages is above it. */
const TORCH_FOLDER = /(?:^|\/)(?:torch|torchgen|functorch)\//;
/** Native frames: allocators, bindings and the interpreter itself. */
const NATIVE = /\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp|hip|o|s|so|dylib|dll|pyx|pxd)(?:\.\d+)*$/i;

/** A plain path with "/" as separator. V8 names ES modules by URL. */
function slashes(file: string): string {
  const path = file.startsWith("file:///") ? file.slice("file://".length) : file;
  return path.includes("\\") ? path.replaceAll("\\", "/") : path;
}

/** The directory with "/" as separator and without a trailing one; null for none. */
function directory(root: string | null): string | null {
  const plain = root === null ? null : slashes(root).replace(/\/+$/, "");
  return plain === "" ? null : plain;
}

/** The file relative to `root` when it is inside it, with "/" as separator, else unchanged. */
export function relativePath(file: string, root: string | null): string {
  const plain = slashes(file);
  const base = directory(root);
  if (base !== null && plain.startsWith(`${base}/`)) return plain.slice(base.length + 1);
  return plain.startsWith("./") ? plain.slice(2) : plain;
}

export interface UserFrameOptions {
  /** Directory of the repository; null when unknown. */
  readonly root: string | null;
  /** Directories of this project, such as the probe's. */
  readonly exclude?: readonly string[];
}

/** User code: not the interpreter, packages, native or generated code; in the repository, unless in an environment. */
export function userFrames(options: UserFrameOptions): (frame: Frame) => boolean {
  const base = directory(options.root);
  const excluded = (options.exclude ?? []).map((name) => `${directory(name)}/`);
  const known = new Map<string, boolean>();
  const judge = (file: string): boolean => {
    const plain = slashes(file);
    if (GENERATED.test(plain) || NATIVE.test(plain)) return false;
    if (excluded.some((name) => plain.startsWith(name))) return false;
    const inside = base !== null && plain.startsWith(`${base}/`);
    const own = inside ? plain.slice(base.length + 1) : plain;
    if (FOREIGN_FOLDER.test(own)) return false;
    return inside || !TORCH_FOLDER.test(own);
  };
  return ({ file }) => {
    let user = known.get(file);
    if (user === undefined) {
      user = judge(file);
      known.set(file, user);
    }
    return user;
  };
}

/** The innermost frame of user code, else the innermost of all; null for an empty stack. */
export function ownerOf(
  stack: readonly Frame[],
  isUserFrame: (frame: Frame) => boolean,
): { readonly frame: Frame; readonly user: boolean } | null {
  const own = stack.find(isUserFrame);
  if (own !== undefined) return { frame: own, user: true };
  const innermost = stack[0];
  return innermost === undefined ? null : { frame: innermost, user: false };
}
