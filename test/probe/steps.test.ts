import path from "node:path";
import { describe, expect, it } from "vitest";
import { atSteps, CHEAP, HEAP, only, probedScript, STAND_INS } from "./testing/probed.ts";
import { PYTHON, type Python, WITH_TORCH } from "./testing/pythons.ts";

const standIn = { pythonPath: [path.join(STAND_INS, "torch-cuda")] };

/** Steps that the probe counted in a script whose PyTorch is a stand-in of the current release. */
async function counted(script: string): Promise<{ step: number | null; from: string | undefined }> {
  const ended = await probedScript(PYTHON!, `import torch\nfrom torch.optim import *\n${script}`, standIn);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const { header, info } = only(ended);
  return { step: header.step, from: info.get("steps_from") };
}

/** The same with the real PyTorch of this machine. */
async function countedReally(python: Python, script: string): Promise<number | null> {
  const setup = `import torch
torch.set_num_threads(1)
def parameter(): return torch.nn.Parameter(torch.ones(3))
def backward(*parameters): sum((p * p).sum() for p in parameters).backward()
`;
  const ended = await probedScript(python, setup + script);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return only(ended).header.step;
}

const ONE = "optimizer = SGD([object()])\n";

describe.skipIf(PYTHON === null)("steps", () => {
  it.each<[string, string, number | null]>([
    ["an optimizer's", `${ONE}for _ in range(30): optimizer.step()`, 30],
    ["none where nothing steps", ONE, null],
    [
      "an optimizer's that takes a closure, once however often that is called",
      "optimizer = LBFGS([object()])\nfor _ in range(30): optimizer.step(lambda: 1)",
      30,
    ],
    [
      "iterations of two optimizers in turn",
      "a, b = Adam([object()]), SGD([object()])\nfor _ in range(30): a.step(); b.step()",
      30,
    ],
    [
      "iterations of an optimizer for each parameter",
      "many = [SGD([object()]) for _ in range(50)]\nfor _ in range(30):\n  for one in many: one.step()",
      30,
    ],
    [
      "an optimizer's that is created for every step",
      "parameters = [object()]\nfor _ in range(30): SGD(parameters).step()",
      30,
    ],
    [
      "an optimizer's that is created for every step and kept",
      "parameters, kept = [object()], []\nfor _ in range(30): kept.append(SGD(parameters)); kept[-1].step()",
      30,
    ],
    [
      "a class's that calls its parent's step",
      "class Own(SGD):\n  def step(self, closure=None):\n    return super().step(closure)\nSGD([object()])\noptimizer = Own([object()])\nfor _ in range(30): optimizer.step()",
      30,
    ],
    [
      "an optimizer's that wraps another",
      "class Around(Optimizer):\n  def __init__(self, inner): self.inner = inner; super().__init__(inner.param_groups[0]['params'])\n  def step(self, closure=None): return self.inner.step(closure)\noptimizer = Around(SGD([object()]))\nfor _ in range(30): optimizer.step()",
      30,
    ],
    [
      "those before an optimizer's failing step and after",
      `class Odd(SGD):\n  def step(self, fail): \n    if fail: raise ValueError\noptimizer = Odd([object()])\nfor n in range(30):\n  try: optimizer.step(n == 7)\n  except ValueError: pass`,
      29,
    ],
    [
      "an optimizer's after torch.compile took the hooks off its class",
      `${ONE}for _ in range(10): optimizer.step()\ntorch.compile(None)\nfor _ in range(20): optimizer.step()`,
      30,
    ],
    [
      "an optimizer's that was made after torch.compile",
      `torch.compile(None)\n${ONE}for _ in range(30): optimizer.step()`,
      30,
    ],
    [
      "an optimizer's of a class of the user's after torch.compile",
      "torch.compile(None)\nclass Own(Adam):\n  def step(self, closure=None): return super().step(closure)\noptimizer = Own([object()])\nfor _ in range(30): optimizer.step()",
      30,
    ],
  ])("steps are counted: %s", async (_what, script, expected) => {
    expect((await counted(script)).step).toBe(expected);
  });

  it("steps continue over an optimizer of another phase, within three steps", async () => {
    const script = `${ONE}for _ in range(30): optimizer.step()\ndel optimizer\nnext_one = Adam([object()])\nfor _ in range(30): next_one.step()`;
    const { step } = await counted(script);
    expect(step).toBeGreaterThanOrEqual(57);
    expect(step).toBeLessThanOrEqual(60);
  });

  it("steps are the program's own once it reports them", async () => {
    const script = `${ONE}from stormlog_gate import step\nfor n in range(30):\n  optimizer.step()\n  if n >= 10: step()\n`;
    expect(await counted(script)).toEqual({ step: 20, from: "api" });
    const numbered = `${ONE}from stormlog_gate import step\nfor n in range(30):\n  optimizer.step(); optimizer.step()\n  step(1000 + n)\n`;
    expect(await counted(numbered)).toEqual({ step: 1029, from: "api" });
  });

  it("invalid step numbers are ignored", async () => {
    const script =
      "from stormlog_gate import step\nfor odd in (-1, 1 << 70, 'three', float('nan'), object(), 5): print(step(odd))";
    const ended = await probedScript(PYTHON!, script);
    expect(ended).toMatchObject({ code: 0, stdout: "None\n".repeat(6), stderr: "" });
    expect(only(ended).header.step).toBe(5);
  });

  it("stormlog_gate.step works under flags that disable the rest of the probe", async () => {
    const script = "import stormlog_gate; print(stormlog_gate.step())";
    const ended = await probedScript(PYTHON!, script, { flags: ["-S"] });
    expect(ended).toMatchObject({ code: 0, stdout: "None\n", stderr: "" });
  });

  it("steps of 0.4 ms have at least 50 readings of the heap", async () => {
    const script = `${CHEAP}${ONE}for _ in range(400):
  until = time.perf_counter() + 0.0004
  while time.perf_counter() < until: pass
  optimizer.step()`;
    const left = only(await probedScript(PYTHON!, `import torch\nfrom torch.optim import *\n${script}`, standIn));
    expect(atSteps(left, HEAP, 0).length).toBeGreaterThanOrEqual(50);
  });
});

describe.skipIf(WITH_TORCH === null)("steps of a real PyTorch", () => {
  it.each<[string, string, number]>([
    [
      "Adam with a scheduler",
      "p = parameter(); o = torch.optim.Adam([p]); s = torch.optim.lr_scheduler.StepLR(o, 10)\nfor _ in range(30): o.zero_grad(); backward(p); o.step(); s.step()",
      30,
    ],
    [
      "LBFGS",
      "p = parameter(); o = torch.optim.LBFGS([p])\ndef closure():\n  o.zero_grad(); l = (p * p).sum(); l.backward(); return l\nfor _ in range(30): o.step(closure)",
      30,
    ],
    [
      "a GAN's two",
      "p, q = parameter(), parameter(); a, b = torch.optim.SGD([p], 1e-3), torch.optim.AdamW([q])\nfor _ in range(30): backward(p, q); a.step(); b.step()",
      30,
    ],
    [
      "a subclass that calls its parent's",
      "class Own(torch.optim.SGD):\n  @torch.no_grad()\n  def step(self, closure=None): return super().step(closure)\np = parameter(); torch.optim.SGD([p], 1e-3); o = Own([p], 1e-3)\nfor _ in range(30): backward(p); o.step()",
      30,
    ],
    [
      "one that came from a pickle",
      "import pickle\np = parameter(); o = pickle.loads(pickle.dumps(torch.optim.SGD([p], 1e-3)))\nfor _ in range(30): o.step()",
      30,
    ],
    [
      "a scaler that leaves steps out is not part of",
      "p = parameter(); o = torch.optim.SGD([p], 1e-3); s = torch.cuda.amp.GradScaler(enabled=False)\nfor _ in range(30): backward(p); s.step(o); s.update()",
      30,
    ],
  ])("steps of a real PyTorch are counted: %s", async (_what, script, expected) => {
    expect(await countedReally(WITH_TORCH!, script)).toBe(expected);
  });
});
