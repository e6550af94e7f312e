"""Counts training steps without an edit of the script, by the steps of its optimizers.

The rule. An iteration ends when an optimizer steps that has stepped in it already; an optimizer is known by its first parameter,
so that a new one over the same model is the same. Two optimizers of a GAN that step in turn make one step an
iteration; a critic stepped five times for one step of its generator makes five; optimizers for single parameters, stepped during
the backward pass, make one; one that wraps another makes one. Phases that train different parameters one after the other count
on, less the first step of each. `stormlog_gate.step()` goes before: once it is called, it alone counts, from its own first call.
"""

import functools
import sys
import weakref

from . import complain

OPTIMIZER_HOOK, PATCHED_STEP, API = "optimizer-hook", "patched-step", "api"

#: torch's module whose first use takes every hook off torch's own optimizers, see `follow_compiler`.
COMPILER = "torch._dynamo.eval_frame"

#: An optimizer that wraps another calls its step within this many frames.
_NEAR = 12


class Steps:
    """@param stepped called with the number of a step when it is done"""

    def __init__(self, stepped):
        self._stepped = stepped
        #: Optimizers that have stepped in this iteration, by key; and the key while it is the only one.
        self._round = {}
        self._only = None
        self.count = 0
        #: What counts the steps; None before the first.
        self.source = None
        #: id() of the optimizer that steps alone, so that each of its steps is an iteration; 0 while that is not so.
        self.lone = 0

    def optimizer(self, optimizer, source):
        """An optimizer has stepped."""
        key = _key(optimizer)
        if key != self._only or self.source == API:
            if self.source == API or not self._ends_round(key, optimizer):
                return
            self.source = source
        else:
            self.lone = id(optimizer)
        self.count += 1
        self._stepped(self.count)

    def explicit(self, number):
        """The program reports a finished step. `number` is its own number, None for the next."""
        self.lone = 0
        if self.source != API:
            self.source = API
            self.count = 0
        self.count = self.count + 1 if number is None else max(0, int(number))
        self._stepped(self.count)

    def _ends_round(self, key, optimizer):
        global _alone
        # Another optimizer steps, which may wrap this one.
        _alone = 0
        self.lone = 0
        known = self._round
        # If all optimizers of this iteration were freed, so was their model: this step begins a new iteration.
        if key in known or all(reference() is None for reference in known.values()):
            self._round = {key: weakref.ref(optimizer)}
            self._only = key
            return True
        known[key] = weakref.ref(optimizer)
        self._only = None
        return False


def _key(optimizer):
    try:
        return id(optimizer.param_groups[0]["params"][0])
    except Exception:  # noqa: BLE001 (an optimizer of another kind)
        return id(optimizer)


#: Code of the functions that are called in place of an optimizer's step: torch's and ours.
_wrappers = set()


#: Steps in a row, of known optimizers, that no other optimizer wrapped. From SETTLED on this is no longer checked.
_alone = 0
SETTLED = 200


def _nested(depth):
    """Whether the step whose wrapper is `depth` calls up was called within another optimizer's step."""
    global _alone
    frame = sys._getframe(depth + 1)
    for _ in range(_NEAR):
        frame = frame.f_back
        if frame is None:
            break
        if frame.f_code in _wrappers:
            _alone = 0
            return True
    _alone += 1
    return False


def _codes_within(function):
    return [value for value in getattr(getattr(function, "__code__", None), "co_consts", ()) if hasattr(value, "co_code")]


def hook(torch, stepped):
    """Have `stepped(optimizer, source)` called after every optimizer step. Returns how, None when torch offers no way."""
    module = sys.modules.get("torch.optim.optimizer") or getattr(getattr(torch, "optim", None), "optimizer", None)
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:

        _wrappers.update(_codes_within(getattr(module.Optimizer, "profile_hook_step", None)))

        def after(optimizer, _args, _kwargs):
            # The caller is torch's wrapper of `step`.
            if _alone >= SETTLED or not _nested(1):
                stepped(optimizer, OPTIMIZER_HOOK)

        # torch.compile must not trace into the probe.
        after._torchdynamo_disable = True
        register(after)
        return OPTIMIZER_HOOK
    base = getattr(module, "Optimizer", None)
    if not hasattr(base, "_hook_for_profile"):
        return None
    # Called by every new and every unpickled optimizer.
    original = base._hook_for_profile

    @functools.wraps(original)
    def prepared(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        _wrap_step(type(self), stepped)
        return result

    base._hook_for_profile = prepared
    return PATCHED_STEP


def _wrap_step(cls, stepped):
    """Wrap the step of an optimizer's class once, as torch itself does for its profiler."""
    step = cls.step
    if getattr(step, "_stormlog_gate", False):
        return

    @functools.wraps(step)
    def counted(self, *args, **kwargs):
        result = step(self, *args, **kwargs)
        if _alone >= SETTLED or not _nested(0):
            stepped(self, PATCHED_STEP)
        return result

    counted._stormlog_gate = True
    _wrappers.add(counted.__code__)
    cls.step = counted


def follow_compiler(eval_frame, stepped):
    """
    torch 2.0 and later, up to some version: at the first `torch.compile` its TorchPatcher takes torch's wrapper, and with it
    every hook, off the optimizers of torch.optim, and marks them so that it never comes back. They get ours in its place.
    """
    patcher = getattr(eval_frame, "TorchPatcher", None)
    original = getattr(patcher, "patch", None)
    torch = sys.modules.get("torch")
    if original is None or torch is None:
        return

    @functools.wraps(original)
    def patch(*args, **kwargs):
        result = original(*args, **kwargs)
        try:
            for cls in list(vars(torch.optim).values()):
                if isinstance(cls, type) and issubclass(cls, torch.optim.Optimizer) and _unhooked(cls):
                    _wrap_for_compiler(cls, torch, stepped)
        except Exception as error:  # noqa: BLE001
            complain(error)
        return result

    patcher.patch = staticmethod(patch)


def _unhooked(cls):
    """Whether torch has marked this step as wrapped although it is not."""
    step = cls.__dict__.get("step")
    if step is None or not getattr(step, "hooked", False) or getattr(step, "_stormlog_gate", False):
        return False
    while step is not None:
        if getattr(step, "__code__", None) in _wrappers:
            return False
        step = getattr(step, "__wrapped__", None)
    return True


def _wrap_for_compiler(cls, torch, stepped):
    step = cls.step
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)

    @functools.wraps(step)
    def counted(self, *args, **kwargs):
        # Not while torch.compile traces the step into a graph.
        if is_compiling():
            return step(self, *args, **kwargs)
        result = step(self, *args, **kwargs)
        if _alone >= SETTLED or not _nested(0):
            stepped(self, OPTIMIZER_HOOK)
        return result

    counted._stormlog_gate = True
    _wrappers.add(counted.__code__)
    cls.step = counted
