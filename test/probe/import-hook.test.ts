import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { only, probed, probedScript, STAND_INS, temporaryDirectory } from "./testing/probed.ts";
import { PYTHON, PYTHONS, versionOf } from "./testing/pythons.ts";

const EACH = PYTHONS.map((python) => [versionOf(python), python] as const);
const TORCH = path.join(STAND_INS, "torch-cuda");

/** A directory with these files. */
function directoryWith(files: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    writeFileSync(path.join(directory, name), text);
  }
  return directory;
}

describe.skipIf(PYTHON === null)("the probe's hook into imports", () => {
  const python = PYTHON!;

  it.each(EACH)(
    "the import hook leaves a framework's module as every other importer would in Python %s",
    async (_version, python) => {
      const script = `
import importlib, importlib.util, sys
assert importlib.util.find_spec("torch").name == "torch"
import torch, json
for module in (torch, json):
    print(type(module.__loader__).__name__, type(module.__spec__.loader).__name__, module.__loader__ is module.__spec__.loader)
import torch.optim
print(importlib.reload(torch) is torch, type(torch.__loader__).__name__)
import time; time.sleep(0.3)
`;
      const ended = await probedScript(python, script, { pythonPath: [TORCH] });
      const line = "SourceFileLoader SourceFileLoader True\n";
      expect(ended).toMatchObject({ code: 0, stdout: `${line}${line}True SourceFileLoader\n`, stderr: "" });
      expect(Object.fromEntries(only(ended).info)).toMatchObject({ framework: "torch", torch: "2.9.0+standin" });
    },
  );

  it.each(EACH)(
    "the import hook lets Python %s import a framework while the probe itself is loading",
    async (_version, python) => {
      // The interpreter asks for a module's spec with its one lock for all imports in hand, and the probe's thread
      // needs that lock.
      const script = `
import importlib.machinery, sys, threading, time
loading = threading.Event()
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name != "_stormlog_probe.entry":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def slowly(module):
            loading.set()
            time.sleep(0.3)
            execute(module)
        spec.loader.exec_module = slowly
        return spec
sys.meta_path.insert(0, Slow())
assert loading.wait(5)
import torch
time.sleep(0.5)
print(torch.__version__)
`;
      const ended = await probedScript(python, script, { pythonPath: [TORCH], timeoutMs: 10_000 });
      expect(ended).toMatchObject({ code: 0, stdout: "2.9.0+standin\n", stderr: "" });
      expect(only(ended).info.get("framework")).toBe("torch");
    },
  );

  it("notices a framework that is imported between the first look of a probe and its being there", async () => {
    const script = `
import importlib, threading, time
from _stormlog_probe import crash, process
watch = crash.watch
def importing(current):
    # Called once the probe that is being made has looked for frameworks, before other threads may use it.
    watch(current)
    thread.start()
    while "torch" not in process._frameworks:
        time.sleep(0.001)
thread = threading.Thread(target=importlib.import_module, args=("torch",))
crash.watch = importing
process.current()
thread.join()
print(sorted(process._frameworks))
`;
    const ended = await probedScript(python, script, { pythonPath: [TORCH] });
    expect(ended).toMatchObject({ code: 0, stdout: "['torch']\n", stderr: "" });
    expect(only(ended).info.get("framework")).toBe("torch");
  });

  it("sees a framework as soon as it is imported, however soon the process is over", async () => {
    const ended = await probed(python, ["-c", "import torch"], { pythonPath: [TORCH] });
    expect(only(ended).info.get("framework")).toBe("torch");
  });

  it("goes through the finders of editable installs, in their order", async () => {
    const finder = `
import sys, importlib.util
# This Python may have a torch of its own, which would be found before the last finder.
sys.path[:] = [place for place in sys.path if not place.endswith("-packages")]
class Editable:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "torch":
            return importlib.util.spec_from_file_location("torch", ${JSON.stringify(path.join(TORCH, "torch", "__init__.py"))}, submodule_search_locations=[${JSON.stringify(path.join(TORCH, "torch"))}])
sys.meta_path.insert(0, Editable) if FIRST else sys.meta_path.append(Editable)
import torch, time
print(torch.__version__)
time.sleep(0.8)
`;
    for (const first of ["True", "False"]) {
      const ended = await probedScript(python, finder.replace("FIRST", first));
      expect(ended).toMatchObject({ code: 0, stdout: "2.9.0+standin\n", stderr: "" });
      expect(only(ended).info.get("framework")).toBe("torch");
    }
  });

  it("sees a framework that was there before it", async () => {
    const script = "import time; time.sleep(0.7)";
    const early = directoryWith({ "early/early_torch.py": "" });
    // A finder that loads the module itself and bypasses the probe's.
    const ended = await probedScript(
      python,
      `import sys, importlib.util
spec = importlib.util.spec_from_file_location("torch", ${JSON.stringify(path.join(TORCH, "torch", "__init__.py"))}, submodule_search_locations=[${JSON.stringify(path.join(TORCH, "torch"))}])
module = importlib.util.module_from_spec(spec)
sys.modules["torch"] = module
spec.loader.exec_module(module)
${script}`,
      { pythonPath: [early] },
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(only(ended).info.get("framework")).toBe("torch");
  });

  it("does not change how a failing import fails", async () => {
    const broken = directoryWith({ "torch.py": "raise ImportError('libcudart.so.13: cannot open')" });
    const script =
      "try:\n  import torch\nexcept ImportError as error:\n  print(error)\nimport sys; print('torch' in sys.modules)";
    const ended = await probedScript(python, script, { pythonPath: [broken] });
    expect(ended).toMatchObject({ code: 0, stdout: "libcudart.so.13: cannot open\nFalse\n", stderr: "" });
    const missing = await probedScript(python, script.replaceAll("torch", "tensorflow"));
    expect(missing).toMatchObject({ code: 0, stdout: "No module named 'tensorflow'\nFalse\n", stderr: "" });
  });

  it.each([
    ["a module of the user's", { "torch.py": "value = 5" }, "5"],
    [
      "one whose attributes raise",
      { "torch.py": "value = 5\ndef __getattr__(name):\n  raise RuntimeError(name)" },
      "5",
    ],
    ["one in two directories without a file", { "torch/part.py": "value = 5" }, "None"],
  ])("does not disturb what only has a framework's name: %s", async (_what, files, printed) => {
    const script = "import torch, time\nprint(vars(torch).get('value'))\ntime.sleep(0.3)";
    const ended = await probedScript(python, script, { pythonPath: [directoryWith(files)] });
    expect(ended).toMatchObject({ code: 0, stdout: `${printed}\n`, stderr: "" });
    expect(only(ended).header.ended).toBe(true);
  });

  it("imports no framework, and nothing that a program may need to import first", async () => {
    const script = `
import sys
heavy = [name for name in ("torch", "tensorflow", "jax", "numpy", "json", "logging", "ctypes", "threading", "re", "importlib.util", "mmap") if name in sys.modules]
print(heavy)
`;
    const [bare] = (await probedScript(python, script, { flags: ["-E"] })).stdout.split("\n");
    const [own] = (await probedScript(python, script)).stdout.split("\n");
    expect(own).toBe(bare);
  });
});
