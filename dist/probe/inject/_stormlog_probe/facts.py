"""Facts of the process besides its memory: the info file and the header of the ring, kept up to date."""

import os
import sys

import _stormlog_probe

from . import complain, heap, pymalloc, ranks, ring, threads
from .info import Info
from .phases import Phases

_FLAGS = ("isolated", "ignore_environment", "no_site", "no_user_site", "dev_mode", "optimize")


class Facts:
    def __init__(self, base, into, identity, reading):
        """@param into the ring  @param identity of this process  @param reading whose backends describe devices"""
        self._info = Info(base + ".info")
        self._ring = into
        self._identity = identity
        self._reading = reading
        self._saving = threads.allocate_lock()
        self._modules = {}
        self._described = set()
        #: The phases that the program names.
        self.phases = Phases()
        #: ((rank, local rank, world size), role)
        self.identity = (ranks.UNKNOWN, ranks.PLAIN)
        #: What counts the steps, by the probe's name for it.
        self.steps_from = None
        #: Module that reset CUDA's peak counters.
        self.peaks_reset_by = None
        self._start()

    @property
    def rank(self):
        """None when unknown."""
        rank = self.identity[0][0]
        return None if rank < 0 else rank

    def _start(self):
        environment = os.environ
        self._info.set(
            pid=os.getpid(),
            ppid=os.getppid(),
            argv=" ".join(_program(_command_line()))[:2000],
            executable=sys.executable,
            python="%d.%d.%d" % sys.version_info[:3],
            flags=" ".join(name for name in _FLAGS if getattr(sys.flags, name, 0)) or None,
            allocator_conf=_allocator_conf(environment),
            cuda_visible_devices=environment.get("CUDA_VISIBLE_DEVICES", environment.get("HIP_VISIBLE_DEVICES")),
            cuda_device_order=environment.get("CUDA_DEVICE_ORDER"),
            hip_visible_devices=environment.get("HIP_VISIBLE_DEVICES"),
            rocr_visible_devices=environment.get("ROCR_VISIBLE_DEVICES"),
            ze_affinity_mask=environment.get("ZE_AFFINITY_MASK"),
            group_rank=environment.get("GROUP_RANK"),
            run_id=environment.get("TORCHELASTIC_RUN_ID"),
        )

    def knows(self, name):
        return name in self._modules

    def framework(self, name, module):
        """A framework was imported."""
        self._modules[name] = module
        self._ring.flag(ring.FLAG_FRAMEWORK)
        # The first one computes. Others are imported by it.
        self._info.set(framework=self._info.get("framework") or name)
        # Not by `getattr`, which a module can define.
        self._info.update({name: vars(module).get("__version__")})
        if name == "torch":
            version = vars(module).get("version")
            self._info.set(cuda=getattr(version, "cuda", None), hip=getattr(version, "hip", None))
        elif name == "jax":
            self._info.set(jaxlib=getattr(sys.modules.get("jaxlib"), "__version__", None))

    def mark(self, moments):
        """Times (name to monotonic ns) that explain the gap between driver and allocator. The first of each name counts."""
        self._info.update({name: moment for name, moment in moments.items() if self._info.get(name) is None})

    def save(self):
        """Read the facts that become known late, and write what is new."""
        if not self._saving.acquire(False):
            return
        try:
            self.identify()
            self._look_at_devices()
            self._info.set(
                heap=heap.how(),
                python_heap=pymalloc.how(),
                steps_from=self.steps_from,
                traceml="1" if _traceml() else None,
                error=_stormlog_probe.trouble,
            )
            self._info.update(self.phases.take_changes())
            if not heap.how().startswith("none:"):
                self._ring.flag(ring.FLAG_HEAP)
            self._info.save()
        except Exception as error:  # noqa: BLE001 (a full disk)
            complain(error)
        finally:
            self._saving.release()

    def identify(self):
        """Update the rank and role of the process in the header and the file."""
        try:
            identity = self._identity.now()
        except Exception as error:  # noqa: BLE001 (a process group that is being set up)
            complain(error)
            return
        if identity != self.identity:
            self.identity = identity
            numbers, role = identity
            self._ring.ranks(numbers[0], numbers[1], numbers[2], role)
            rank, local_rank, world_size = [None if number < 0 else number for number in numbers]
            self._info.set(rank=rank, local_rank=local_rank, world_size=world_size)
        self._info.set(role=ranks.ROLE_NAMES[identity[1]])

    def _look_at_devices(self):
        for backend in self._reading.backends:
            if backend.peaks_reset or self.peaks_reset_by is not None:
                self._ring.flag(ring.FLAG_PEAKS_RESET)
                self._info.set(peaks_reset="1", peaks_reset_by=self.peaks_reset_by)
            if backend.kind in self._described or not backend.initialized():
                continue
            self._described.add(backend.kind)
            self._ring.flag(ring.FLAG_DEVICE)
            name = {ring.CUDA: "cuda", ring.XPU: "xpu"}.get(backend.kind)
            if name is not None:
                try:
                    from . import torch_devices

                    self._info.update(torch_devices.describe(getattr(self._modules["torch"], name), name))
                except Exception as error:  # noqa: BLE001 (a device that is lost)
                    complain(error)


def _traceml():
    """Whether TraceML runs in this process: `traceml_ai` since 0.3, or started by its own launcher."""
    names = ("traceml", "traceml_ai")
    return any(name in sys.modules for name in names) or os.environ.get("TRACEML_DISABLED") == "0"


def _allocator_conf(environment):
    """Settings of the framework's allocator. They are part of the identity of the environment."""
    named = [environment.get(name) for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")]
    settings = [next((value for value in named if value), "")]
    for name in ("PYTORCH_NO_CUDA_MEMORY_CACHING", "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"):
        if environment.get(name):
            settings.append("%s=%s" % (name, environment[name]))
    return " ".join(setting for setting in settings if setting) or None


def _program(words):
    """Interpreter, options and program. The program's own arguments are left out of the file, because they may be secret."""
    for at, word in enumerate(words):
        if word in ("-c", "-m"):
            return words[: at + (1 if word == "-c" else 2)]
        if at > 0 and not word.startswith("-"):
            return words[: at + 1]
    return words


def _command_line():
    if hasattr(sys, "orig_argv"):
        return sys.orig_argv
    try:
        with open("/proc/self/cmdline", "rb") as line:
            return os.fsdecode(line.read()).rstrip("\0").split("\0")
    except OSError:
        return getattr(sys, "argv", [])
