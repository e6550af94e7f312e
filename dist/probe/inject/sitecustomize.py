# Stormlog Gate's probe: what every Python process of a measured command runs at its start. It has to cost next to
# nothing, also where no bytecode is kept: it is short, loads only what is built in, and leaves the rest to
# `_stormlog_probe` until a framework is imported, the process has lived for a tenth of a second, forks, or fails. Then
# the user's own sitecustomize runs, as it would have. Pythons too old for the probe run this, too. See docs/probe.md.
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _is_main_interpreter():
    # The probe is the process's. A sub-interpreter cannot end while a thread of the probe lives in it. Only the main
    # interpreter may set this descriptor, and nothing has set it yet.
    import _signal
    import _thread

    try:
        _signal.set_wakeup_fd(_signal.set_wakeup_fd(-1))
    except ValueError:
        return hasattr(_thread, "_is_main_interpreter") and _thread._is_main_interpreter()
    return True


def _import_hook(call):
    class Finder:
        # Called with the interpreter's global import lock held. Nothing may be imported here: the probe's own thread
        # may be loading the probe, and need that lock to go on.
        @staticmethod
        def find_spec(name, path=None, target=None):
            if not (name in ("torch", "tensorflow", "jax") and path is None or name == "torch._dynamo.eval_frame"):
                return None
            try:
                for other in sys.meta_path:
                    spec = other.find_spec(name, path, target) if other is not Finder and hasattr(other, "find_spec") else None
                    if spec is not None:
                        # A directory that only has the name has no loader to replace.
                        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                            spec.loader = ReportingLoader(spec.loader, spec)
                        return spec
            except Exception:
                pass
            return None

    class ReportingLoader:
        # Replaces a module's loader for the one import. The module keeps the real one.
        def __init__(self, loader, spec):
            self._loader, self._spec = loader, spec

        def create_module(self, spec):
            create = getattr(self._loader, "create_module", None)
            return None if create is None else create(spec)

        def exec_module(self, module):
            self._spec.loader = self._loader
            try:
                module.__loader__ = self._loader
            except Exception:
                pass
            self._loader.exec_module(module)
            call("imported", module)

        def __getattr__(self, name):
            return getattr(self._loader, name)

    return Finder


def _begin(here):
    import _signal
    import _thread
    import atexit
    from time import monotonic

    def call(function, *args):
        try:
            # Not by the path, which a program may change.
            if "_stormlog_probe" not in sys.modules:
                from _frozen_importlib import _load
                from _frozen_importlib_external import PathFinder

                _load(PathFinder.find_spec("_stormlog_probe", [here]))
            from _stormlog_probe import entry

            return getattr(entry, function)(*args)
        except Exception:  # a failure of the probe must not reach the program
            return None

    def wait():
        # A process that ends within a tenth of a second pays for a sleeping thread only and leaves no file.
        alive, gate["thread"] = gate["alive"], _thread.get_native_id()
        if not wake.acquire(True, max(0, gate["due"] - monotonic())):
            gate["awake"] = True
            if "over" not in gate:
                call("lasted")
        alive.release()

    def start(function, *args):
        # Signals are left to the program, whose own threads may wait for them. A stack of 8 MiB is too much where
        # memory is limited.
        old = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals() - {4, 7, 8, 11})
        size = gate["stack_size"](1 << 20)
        try:
            gate["start_new_thread"](function, args)
        finally:
            gate["stack_size"](size)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, old)

    def launch():
        gate["thread"] = None
        try:
            start(wait)
        except BaseException:
            gate["thread"] = 0
            gate["alive"].release()
            raise

    def over():
        gate["over"] = True
        # A thread that starts during the interpreter's finalization can abort the program, so wait until it runs.
        for _ in range(4000):
            if gate["thread"] is not None or gate["alive"].acquire(True, 0.0005) and gate["alive"].release() is None:
                break
        # The interpreter stores the exception that ended it. Read here, because the program may replace exception
        # hooks.
        if "awake" in gate or "_stormlog_probe" in sys.modules or hasattr(sys, "last_value"):
            call("ended")

    wake = _thread.allocate_lock()
    # Read now: the program may clear its environment, and gevent replaces the thread functions.
    gate = {name: os.environ.get("STORMLOG_GATE_" + name) for name in ("PROBE_DIR", "PROBE_MS", "ATTRIBUTE", "DEBUG")}
    # `wake` is held while the thread is to wait, `alive` while it runs.
    gate.update(vars(_thread), launch=launch, start=start, wake=wake, alive=_thread.allocate_lock())
    gate.update(thread=0, due=monotonic() + 0.1)
    sys._stormlog_gate = gate
    sys.meta_path.insert(0, _import_hook(call))
    os.register_at_fork(
        before=lambda: call("before_fork"),
        after_in_parent=lambda: call("after_fork", False),
        after_in_child=lambda: call("after_fork", True),
    )
    atexit.register(over)
    if gate["ATTRIBUTE"] in ("on", "peak"):
        call("lasted")  # attribution has to see every allocation
    else:
        wake.acquire()
        gate["alive"].acquire()
        launch()


try:
    # A path may list this directory twice (a venv's lib and lib64): one probe is enough.
    if sys.version_info >= (3, 8) and os.environ.get("STORMLOG_GATE_PROBE_DIR") and not hasattr(sys, "_stormlog_gate"):
        if _is_main_interpreter():
            _begin(_here)
except Exception:  # the program starts even if the probe cannot
    pass


def _hand_over(done):
    # Each of several probes on the path runs the next, and the last runs the user's.
    done.add(_here)
    others = [entry for entry in sys.path if os.path.normpath(entry) not in done]
    if sys.version_info < (3, 5):
        import imp

        try:
            found = imp.find_module("sitecustomize", others)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = theirs = module_from_spec(spec)
        spec.loader.exec_module(theirs)


_hand_over(sys.__dict__.setdefault("_stormlog_gate_done", set()))
