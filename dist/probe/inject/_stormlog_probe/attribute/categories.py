"""What kind of memory a tensor's is, and in which phase it was allocated: found from modules, optimizers and autograd.

The preloaded library knows addresses and stacks alone. Models are seen when they are called (torch's global hooks of
modules), optimizers when they have stepped, and activations when autograd saves them for a backward pass. Nothing is kept
alive, and no tensor is changed.
"""

import sys
import threading
import weakref
from array import array

# By their numbers, from 1 on. Where memory is of two, the lower one counts. The names are published.
CATEGORIES = ("parameters", "gradients", "optimizer_state", "buffers", "inputs", "activations")
PARAMETERS, GRADIENTS, OPTIMIZER_STATE, BUFFERS, INPUTS, ACTIVATIONS = range(1, 7)
# Phases of a call of a model, from 1 on. Those that the program names follow.
PHASES = ("forward", "evaluation")
FORWARD, EVALUATION = 1, 2
MAX_PHASES = 255

# Tensors that are looked for in the arguments of a model.
_MAX_INPUTS = 1000


class Categories:
    """The categories of one process."""

    def __init__(self, library):
        """`library`: the preloaded library, as ctypes has it."""
        import ctypes

        # PyDLL keeps the interpreter's lock: a call is shorter than releasing and taking it again.
        direct = ctypes.PyDLL(None)
        self._phase = direct.stormlog_stacks_phase
        self._phase.argtypes, self._phase.restype = (ctypes.c_uint, ctypes.c_int), None
        self._categorize = direct.stormlog_stacks_categorize
        self._categorize.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint)
        self._categorize.restype = None
        self._local = threading.local()
        self._models = weakref.WeakKeyDictionary()
        self._optimizers = weakref.WeakKeyDictionary()
        self._storage_of = None
        self._hooks_of = None
        self._torch = None
        self.phases = list(PHASES)
        # Names of the categories that are seen; the others are unknown, not 0.
        self.seen = []
        # As `inputs` returns them, at the end.
        self.inputs = {}

    def follow(self, torch):
        """See what torch does from now on. Raises what this torch lacks."""
        self._torch = torch
        self._storage_of = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage
        modules = sys.modules["torch.nn.modules.module"]
        modules.register_module_forward_pre_hook(self._called)
        try:
            modules.register_module_forward_hook(self._returned, always_call=True)
        except TypeError:
            modules.register_module_forward_hook(self._returned)
        for hook in (self._called, self._returned):
            # torch.compile must not trace into the probe.
            hook.__func__._torchdynamo_disable = True
        self.seen = list(CATEGORIES[:5])
        saved = getattr(getattr(torch.autograd, "graph", None), "saved_tensors_hooks", None)
        disable = getattr(torch._C._autograd, "_saved_tensors_hooks_disable", None)
        if saved is not None:
            self._hooks_of = saved
            self.seen.append(CATEGORIES[ACTIVATIONS - 1])
            if disable is not None:
                torch._C._autograd._saved_tensors_hooks_disable = self._giving_way(disable)
            self._watch_saved()

    # Phases of this thread.

    def enter(self, name):
        """The program enters a phase of its own."""
        if name not in self.phases:
            if len(self.phases) >= MAX_PHASES:
                name = None
            else:
                self.phases.append(name)
        self._own().append(0 if name is None else self.phases.index(name) + 1)
        self._set_phase()

    def leave(self):
        own = self._own()
        if own:
            own.pop()
        self._set_phase()

    def _own(self):
        own = getattr(self._local, "own", None)
        if own is None:
            own = self._local.own = []
        return own

    def _set_phase(self):
        if getattr(self._local, "model", None) is None:
            own = self._own()
            self._phase(own[-1] if own else 0, 0)

    # Models.

    def _called(self, module, inputs):
        local = self._local
        outer = getattr(local, "model", None)
        # A call that raised has not returned, before torch 2: the same model begins again.
        if outer is not None and outer != id(module):
            return
        try:
            local.model = id(module)
            self._watch_saved()
            self._phase(FORWARD if self._torch.is_grad_enabled() else EVALUATION, 1)
            calls = self._models[module] = self._models.get(module, 0) + 1
            # Parameters are moved and replaced early, if at all.
            if calls & (calls - 1) == 0:
                self._model(module)
            named = sys._getframe(1).f_locals.get("kwargs")
            # What a model returned to the next one is not an input.
            self._all(_tensors_in((inputs, named)), INPUTS, EVALUATION)
        except Exception:  # noqa: BLE001 (nothing may reach the program)
            pass

    def _returned(self, module, _inputs, _output):
        if getattr(self._local, "model", None) == id(module):
            self._local.model = None
            self._set_phase()

    def _model(self, module):
        parameters = list(module.parameters())
        self._all(parameters, PARAMETERS)
        self._all([one.grad for one in parameters if one.grad is not None], GRADIENTS)
        self._all(module.buffers(), BUFFERS)

    # Optimizers.

    def optimizer(self, optimizer):
        """An optimizer has stepped: the gradients of this step are still there."""
        steps = self._optimizers[optimizer] = self._optimizers.get(optimizer, 0) + 1
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        self._all([one.grad for one in parameters if one.grad is not None], GRADIENTS)
        if steps & (steps - 1) == 0:
            self._all(parameters, PARAMETERS)
            self._all(_tensors_in(list(optimizer.state.values()), most=1 << 20), OPTIMIZER_STATE)

    def finish(self):
        """What is still there at the end: the peak may have been before a model was called at all."""
        from .inputs import inputs

        self.inputs = inputs(list(self._models))
        for module in list(self._models):
            self._model(module)
        for optimizer in list(self._optimizers):
            self._all(_tensors_in(list(optimizer.state.values()), most=1 << 20), OPTIMIZER_STATE)

    # Autograd.

    def _watch_saved(self):
        """See what autograd saves in this thread; once is enough."""
        if self._hooks_of is None or getattr(self._local, "saved", None) is not None:
            return
        self._local.saved = self._hooks_of(self._saved, _same)
        self._local.saved.__enter__()

    def _saved(self, tensor):
        self._all((tensor,), ACTIVATIONS)
        return tensor

    def _giving_way(self, disable):
        """Some functions of torch (torch.func) refuse to run where saved tensors are watched."""

        def disabled(message):
            saved = getattr(self._local, "saved", None)
            if saved is not None:
                self._hooks_of = None
                self._local.saved = None
                self.seen = [one for one in self.seen if one != CATEGORIES[ACTIVATIONS - 1]]
                saved.__exit__(None, None, None)
            return disable(message)

        return disabled

    # The library.

    def name(self, content):
        """Put names in the place of the numbers in a document of the library's, and add which categories are seen."""
        content["categories"], content["inputs"] = self.seen, self.inputs
        for stack in content["stacks"]:
            for part in stack["parts"]:
                category, phase = part[:2]
                part[0] = None if category is None else CATEGORIES[category - 1]
                part[1] = None if phase is None else self.phases[phase - 1]

    def _all(self, tensors, category, within=0):
        addresses = array("Q")
        for tensor in tensors:
            try:
                addresses.append(self._storage_of(tensor).data_ptr())
            except Exception:  # noqa: BLE001 (sparse, fake, or a subclass that refuses)
                pass
        if addresses:
            self._categorize(addresses.buffer_info()[0], len(addresses), category, within)


def _same(tensor):
    return tensor


def _tensors_in(one, most=_MAX_INPUTS):
    """The tensors in lists and dicts, as arguments have them."""
    torch = sys.modules["torch"]
    found, waiting = [], [one]
    while waiting and len(found) < most:
        one = waiting.pop()
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif isinstance(one, dict):
            waiting.extend(list(one.values())[:most])
        elif isinstance(one, (list, tuple)):
            waiting.extend(one[:most])
    return found
