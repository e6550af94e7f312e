import type { Environment } from "../core/environment.ts";

/** Variables that tools need to be found and to find their compilers, caches and networks. */
const KEPT =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|CI|XDG_(?:CACHE|DATA|CONFIG|RUNTIME)_\w+|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|CC|CXX|(?:C|CXX|CPP|LD)FLAGS|PKG_CONFIG_PATH|LD_LIBRARY_PATH|\w+_(?:HOME|ROOT|DIR|VERSION|VISIBLE_DEVICES)|VIRTUAL_ENV|CONDA_PREFIX|PYTHONPATH|NODE_PATH|OMP_\w+|(?:PIP|UV)_(?:INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|INDEX|FIND_LINKS|NO_INDEX|OFFLINE|CACHE_DIR)|npm_config_(?:registry|cache|offline))$/i;
/** What a name or value of a secret looks like; a URL may carry one. */
const SECRET_NAME = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE/i;
const SECRET_VALUE = /:\/\/[^/\s@]+@/;
/** Variables of a workflow's step, of a git hook and of the process that started this one. */
const STEP = /^(?:ACTIONS_|INPUT_|STATE_|GITHUB_|RUNNER_|GIT_)/i;

/**
 * The environment of code from other commits and of packages that are under suspicion. It is built up from known names,
 * so that no token of the caller is in it, under whatever name.
 */
export function toolEnvironment(caller: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(caller).flatMap(([name, value]) =>
      value !== undefined && KEPT.test(name) && !STEP.test(name) && !SECRET_NAME.test(name) && !SECRET_VALUE.test(value)
        ? [[name, value]]
        : [],
    ),
  );
}
