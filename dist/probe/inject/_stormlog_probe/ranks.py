"""The rank of this process in a distributed job, and its role for that rank."""

import os
import sys

from . import ring

PLAIN, RANK, AGENT, CHILD = 0, 1, 2, 3
ROLE_NAMES = ("plain", "rank", "agent", "child")

UNKNOWN = (-1, -1, -1)

#: (rank, local rank, world size) as launchers name them, in order of precedence: torchrun and most others, Open MPI,
#: MPICH and Intel MPI, Slurm. Slurm sets its names also for a batch script, which is not a rank: only a step's task is
#: one.
_NAMES = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"),
)

#: Launchers of ranks: they import what they launch, and train nothing.
_AGENT_MODULES = ("torch.distributed.run", "torch.distributed.launch", "deepspeed.launcher.launch", "deepspeed.launcher.runner")
_AGENT_SCRIPTS = ("torchrun", "deepspeed", "horovodrun")

#: How far up the process tree a rank is looked for: worker, shell, launcher script, rank.
_GENERATIONS = 8
#: It is looked for at the first, second, fourth, … call of `Identity.now`, up to this one: for more than a minute.
LAST_LOOK = 128


def _number(name):
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() and len(text) < 10 else -1


def from_environment():
    """(rank, local rank, world size); -1 where unknown.

    Programs of MPI often set RANK themselves, for a library, and leave the size to MPI's own variable.
    """
    found = [tuple(_number(name) for name in names) for names in _NAMES]
    whole = [one for one in found if one[0] >= 0 and one[2] > 0]
    return whole[0] if whole else found[0] if found[0][0] >= 0 else UNKNOWN


def from_torch():
    """(rank, world size) once torch's process group is initialised; None before."""
    distributed = sys.modules.get("torch.distributed")
    # While it is being imported, or without support for it, the module has no such function.
    is_initialized = getattr(distributed, "is_initialized", None)
    if is_initialized is None or not distributed.is_available() or not is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _is_agent():
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return spec.name in _AGENT_MODULES
    words = getattr(sys, "argv", None) or [""]
    script = os.path.basename(words[0])
    return script in _AGENT_SCRIPTS or (script == "accelerate" and words[1:2] == ["launch"])


def _parent_of(pid):
    with open("/proc/%d/stat" % pid, "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[1])


def nearest_ancestor(directory):
    """((rank, local rank, world size), role) of the nearest ancestor with a probe; None when there is none."""
    pid = os.getppid()
    for _ in range(_GENERATIONS):
        found = None
        for number in range(64):
            path = os.path.join(directory, "%d.%d.probe" % (pid, number))
            if not os.path.exists(path):
                break
            # The last is the image that runs now.
            found = ring.ranks_in(path) or found
        if found is not None:
            return found[:3], found[3]
        try:
            pid = _parent_of(pid)
        except (OSError, ValueError, IndexError):
            return None
        if pid <= 1:
            return None
    return None


class Identity:
    """Rank and role of this process. Read again and again, because a rank may be set up late."""

    def __init__(self, directory, forked_from):
        """@param directory of the rings  @param forked_from result of `now` in the parent, None unless forked"""
        self._directory = directory
        self._forked = forked_from is not None
        self._ancestor = forked_from
        self._asked = 0
        self._known = (UNKNOWN, PLAIN)

    def now(self):
        """((rank, local rank, world size), role); -1 where unknown. What was known once stays."""
        given = from_environment()
        inherited = self._inherited(given[0])
        # A data loader's worker that was forked from a rank has a copy of its process group.
        group = None if inherited is not None and self._forked else from_torch()
        if group is not None:
            local_rank = given[1] if given[0] == group[0] else -1
            self._known = ((group[0], local_rank, group[1]), RANK)
        elif inherited is not None:
            self._known = (inherited, CHILD)
        elif self._known[1] != RANK:
            if _is_agent():
                self._known = (UNKNOWN, AGENT)
            elif given[0] >= 0:
                self._known = (given, RANK)
            else:
                self._known = (UNKNOWN, PLAIN)
        return self._known

    def _inherited(self, rank):
        """The numbers of the rank that this process works for. `rank` is that of its environment, -1 without one."""
        # The ancestor may become a rank later.
        self._asked += 1
        if not self._forked and self._asked <= LAST_LOOK and self._asked & (self._asked - 1) == 0:
            self._ancestor = nearest_ancestor(self._directory)
        if self._ancestor is None or self._ancestor[1] not in (RANK, CHILD):
            return None
        return self._ancestor[0] if rank < 0 or rank == self._ancestor[0][0] else None
