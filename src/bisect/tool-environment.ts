import type { Environment } from "../core/process/environment.ts";
import { hideSecrets } from "../core/process/hide-secrets.ts";

/** Variables that tools need to be found and to find their compilers, caches and networks. */
const OF_TOOLS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|CI|XDG_(?:CACHE|DATA)_HOME|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL)_CA_BUNDLE|CC|CXX|(?:C|CXX|CPP|LD)FLAGS|PKG_CONFIG_PATH|\w+_(?:HOME|ROOT|DIR|VERSION|VISIBLE_DEVICES)|VIRTUAL_ENV|CONDA_PREFIX|PIP_CERT|(?:PIP|UV)_(?:INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|INDEX|FIND_LINKS|NO_INDEX|OFFLINE|CACHE_DIR)|npm_config_(?:registry|cache|offline))$/i;
/** Settings of allocators, runtimes, threads and devices, under which `run` measures as well. */
const OF_RUNTIMES =
  /^(?:LD_|DYLD_|GLIBC_TUNABLES$|MALLOC_|MIMALLOC_|TCMALLOC_|_RJEM_|PYTHON|NODE_|UV_THREADPOOL_SIZE$|DENO_|BUN_|GO[A-Z]+$|JAVA_|JDK_JAVA_OPTIONS$|_JAVA_OPTIONS$|DOTNET_|RUBY|RUST_|[ALMT]SAN_|UBSAN_|OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|VECLIB_|NVPL_|RAYON_|NUMEXPR_|NUMBA_|PYTORCH_|TORCH|TRITON_|TOKENIZERS_|TRANSFORMERS_|HF_|JAX_|XLA_|TF_(?!VAR_|CLI_)|CUDA_|CUBLAS|CUDNN_|NCCL_|NVIDIA_|HIP_|HSA_|ROCM_|ROCR_|MIOPEN_|SYCL_|ZE_|STORMLOG_GATE_)/;
/** Directories in which programs keep their logins, and variables of a workflow's step and of a git hook. */
const KEPT_BACK =
  /_CONFIG_(?:DIR|HOME|ROOT|FILE)$|^XDG_(?:CONFIG|RUNTIME)_|^(?:ACTIONS_|INPUT_|STATE_|GITHUB_|RUNNER_|GIT_)/i;
/** A URL with a user, with or without its scheme, or with a key in its query. */
const SECRET_VALUE =
  /:\/\/[^/\s@]+@|^[^/\s@:]+:[^/\s@]+@|[?&][\w-]*(?:token|key|sig|signature|secret|password)[\w-]*=/i;
/** Variables of shells, desktops and workflow steps, which are not named: they do not change a measurement. */
const OF_SESSION =
  /^(?:_|PWD|OLDPWD|SHLVL|LS_COLORS|LESS\w*|PAGER|EDITOR|VISUAL|HIST\w+|PS\d|(?:WAYLAND_)?DISPLAY|COLORTERM|(?:TERM|SSH|XDG|DBUS|ACTIONS|INPUT|STATE|RUNNER)_\w+|GITHUB_(?!TOKEN)\w+|BASH_FUNC_.*)$/;

/** Whether a setting contains a secret, by its name or by what its value looks like. */
export function looksSecret(name: string, value: string): boolean {
  const setting = `${name}=${value}`;
  return (
    hideSecrets([setting])[0] !== setting || SECRET_VALUE.test(value) || (/_proxy$/i.test(name) && value.includes("@"))
  );
}

interface ToolEnvironment {
  readonly env: Record<string, string>;
  /** Names of what is not in it, sorted, without those of the session. */
  readonly dropped: readonly string[];
  /** Names of the caller's secrets. */
  readonly secrets: readonly string[];
}

/**
 * The environment of code from other commits and of packages that are under suspicion. It is built up from known names,
 * so that no token of the caller is in it, under whatever name.
 */
export function toolEnvironment(caller: Environment): ToolEnvironment {
  const all = Object.entries(caller).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const secrets = all.filter(([name, value]) => looksSecret(name, value));
  // A shorter value could be part of any other.
  const values = secrets.map(([, value]) => value).filter((value) => value.length >= 8);
  const isKept = (name: string, value: string): boolean =>
    (OF_TOOLS.test(name) || OF_RUNTIMES.test(name)) &&
    !KEPT_BACK.test(name) &&
    !looksSecret(name, value) &&
    !values.some((secret) => value.includes(secret));
  return {
    env: Object.fromEntries(all.filter(([name, value]) => isKept(name, value))),
    dropped: all
      .filter(([name, value]) => !isKept(name, value) && !OF_SESSION.test(name))
      .map(([name]) => name)
      .sort(),
    secrets: secrets.map(([name]) => name).sort(),
  };
}
