import { existsSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import path from "node:path";

/** Directory below the home, the variable that names it elsewhere, and what of it has caches and no logins. */
type Shared = readonly [directory: string, variable: string | null, names: readonly string[]];

const SHARED: readonly Shared[] = [
  [
    ".cache",
    "XDG_CACHE_HOME",
    ["pip", "uv", "pypoetry", "torch", "torch_extensions", "go-build", "ccache", "sccache", "yarn", "node", "node-gyp"],
  ],
  [".cache/huggingface", "HF_HOME", ["hub", "datasets", "modules", "xet"]],
  [".local", null, ["bin", "lib"]],
  [".local/share", "XDG_DATA_HOME", ["uv/python", "uv/tools", "mise", "pnpm"]],
  [".cargo", "CARGO_HOME", ["bin", "git", "registry"]],
  [".gradle", "GRADLE_USER_HOME", ["caches", "wrapper"]],
  [".m2", null, ["repository", "wrapper"]],
  ["go", null, ["bin", "pkg"]],
  ["Library", null, ["Caches/pip", "Python"]],
  [
    "",
    null,
    [
      ".npm",
      ".nvm",
      ".volta",
      ".pyenv",
      ".rbenv",
      ".asdf",
      ".tool-versions",
      ".rustup",
      ".keras",
      "nltk_data",
      ".nv",
      ".triton",
    ],
  ],
];

/**
 * An environment with a home in the throw-away directory. Files with logins (.npmrc, .netrc, .gitconfig, those of gh)
 * are not in it. Caches and what the user installed are links, so that a state neither downloads nor compiles again
 * what `run` would find.
 */
export async function throwAwayHome(
  scratch: string,
  env: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const home = path.join(scratch, "home");
  await mkdir(home);
  const rest: Record<string, string> = { ...env, HOME: home };
  for (const [directory, variable, names] of SHARED) {
    const moved = variable === null ? undefined : env[variable];
    if (variable !== null) delete rest[variable];
    const real = moved || path.join(env.HOME || "/nonexistent", directory);
    for (const name of names) {
      const target = path.join(real, name);
      if (!path.isAbsolute(target) || !existsSync(target)) continue;
      const link = path.join(home, directory, name);
      await mkdir(path.dirname(link), { recursive: true });
      await symlink(target, link);
    }
  }
  return rest;
}
