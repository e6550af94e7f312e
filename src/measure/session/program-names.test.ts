import { describe, expect, it } from "vitest";
import { programName } from "./program-names.ts";

describe("the program of a command line", () => {
  it.each([
    [["/usr/bin/wrk", "-t2", "http://127.0.0.1"], "wrk"],
    [["python3", "-X", "dev", "src/main.py", "data.py"], "main.py"],
    [["/usr/bin/python3.11", "/usr/local/bin/gunicorn", "app:app"], "gunicorn"],
    [["python3", "-m", "celery", "worker"], "celery"],
    [["python3", "-c", "from multiprocessing.spawn import spawn_main"], ""],
    [["node", "--require", "./hook.cjs", "server.mjs"], "server.mjs"],
    [["java", "-Xmx1g", "-jar", "lib/service.jar"], "service.jar"],
    [["gunicorn: worker [app]"], "gunicorn: worker [app]"],
    [["worker --token=abc123 --port=80"], "worker --token=*** --port=80"],
    [["bash"], ""],
    [[], ""],
  ])("the command line %j is called %j", (argv, name) => {
    expect(programName(argv)).toBe(name);
  });
});
