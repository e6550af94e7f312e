"""What particular releases of torch need, so that a program runs under a dispatch mode as it does without one."""

import functools
import sys

from .frames import codes_of


def numbers_as_tensors(torch, func, args, error):
    """The arguments with tensors in place of numbers, or None: TorchScript passes constants of traced graphs as bare numbers."""
    if "Unable to cast" not in str(error):
        return None
    expected = getattr(getattr(func, "_schema", None), "arguments", None)
    if expected is None:
        return None
    mended, changed = [], False
    for value, argument in zip(args, expected):
        if isinstance(value, (bool, int, float, complex)) and str(argument.type) == "Tensor":
            value, changed = torch.tensor(value), True
        mended.append(value)
    return mended if changed else None


def autocast_depth(torch):
    # Inside an operator that autocast wraps, "is autocast enabled" reads no; the nesting of its scopes still reads
    # right.
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return depth


def hide_from_compiler(torch):
    """Keep torch.compile from compiling the probe: it would, because the mode is off while the handler runs."""
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    skip = getattr(frames, "skip_code", None)
    if skip is None:
        strategy = getattr(frames, "set_code_exec_strategy", None)
        if strategy is None:
            return
        action = frames._FrameAction.SKIP

        def skip(code):
            strategy(code, frames._FrameExecStrategy(action, action))

    package = __name__.partition(".")[0] + "."
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for code in codes_of(module):
                skip(code)


def repair_as_subclass(torch):
    """Releases up to 2.5 at least cannot make a subclass of a tensor under a dispatch mode: dispatch is off around that call.

    To be called under the mode: it tries.
    """

    class Tried(torch.Tensor):
        pass

    original = torch.Tensor.as_subclass
    without = getattr(torch._C, "_DisableTorchDispatch", None)
    try:
        original(torch.empty(0), Tried)
        return
    except RuntimeError:
        if without is None:
            raise
    plain = (torch.Tensor, torch.nn.Parameter)

    @functools.wraps(original)
    def as_subclass(self, cls):
        # A subclass with a dispatch of its own has to see the call.
        if type(self) not in plain:
            return original(self, cls)
        # No context manager: dispatch is off for as long as the object lives.
        off = without()
        try:
            return original(self, cls)
        finally:
            del off

    torch.Tensor.as_subclass = as_subclass


class Uncompiled:
    """Lets torch.compile run its functions uncompiled.

    Under a dispatch mode it does so anyway, but with `fullgraph=True` newer releases raise an error unless the stance is set.
    """

    def __init__(self, torch, memory):
        self.torch = torch
        self.set = False
        original = getattr(torch, "compile", None)
        if original is None or not hasattr(getattr(torch, "compiler", None), "set_stance"):
            return

        @functools.wraps(original)
        def compile(*args, **kwargs):
            if memory.on:
                self.do(memory.notes)
            return original(*args, **kwargs)

        torch.compile = compile

    def do(self, notes):
        """From now on. Not before the program compiles a function, since this loads the compiler."""
        if self.set:
            return
        self.set = True
        try:
            self.torch.compiler.set_stance("force_eager")
            notes.add("torch.compile ran its functions uncompiled")
        except Exception:  # noqa: BLE001 (nothing may reach the program)
            notes.add("torch.compile could not be set to run uncompiled")

    def undo(self):
        """The mode is gone: compile as usual."""
        if not self.set:
            return
        self.set = False
        try:
            self.torch.compiler.set_stance("default")
        except Exception:  # noqa: BLE001
            pass


def python_owns(pointer):
    """Whether tracemalloc knows the block at an address: then a numpy array or another Python object owns it."""
    query = block_query()
    return query is not None and any(query(domain, pointer) is not None for domain in (0, NUMPY_DOMAIN))


# numpy/core/src/multiarray/alloc.c: NPY_TRACE_DOMAIN
NUMPY_DOMAIN = 389047
_query = []


def block_query():
    """A function (domain, address) -> tracemalloc's frames of that block or None; None where the interpreter hides it."""
    if not _query:
        try:
            import ctypes

            function = ctypes.pythonapi._PyTraceMalloc_GetTraceback
            function.restype = ctypes.py_object
            function.argtypes = (ctypes.c_uint, ctypes.c_size_t)
            _query.append(function)
        except (ImportError, AttributeError):
            _query.append(None)
    return _query[0]
