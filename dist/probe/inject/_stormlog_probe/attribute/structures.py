"""What can grow while a program keeps memory: containers by their lengths, other objects by what they refer to."""

import builtins
import collections
import gc
import sys
import types

# Shorter containers are ignored: they cannot add up to a leak.
MIN_LENGTH = 4
# A dict of which the collector knows nothing is a cache, not a record, from this length on.
MIN_UNTRACKED_LENGTH = 16
# More objects are not searched for what they refer to: 80,000 took 13 ms in Python 3.11 and 31 ms in 3.8, traced.
MAX_SEARCHED = 500_000

KINDS = (list, dict, set, collections.deque)
# Longer containers of the probe are not entered: they hold records, no containers that grow.
MAX_ENTERED = 1000
_ENTERED = frozenset((*KINDS, types.MethodType, types.BuiltinMethodType))
_PROBE = __name__.partition(".")[0]
# Reading an attribute of a class may run code of its metaclass.
_MEMBERS = type.__dict__["__dict__"].__get__
_LENGTHS = frozenset(kind.__len__ for kind in KINDS)
_BATCH = 512
# What these refer to changes while a program runs, or is the interpreter's own.
_NOT_SEARCHED = frozenset(
    (types.ModuleType, types.CodeType, types.FrameType, types.FunctionType, types.BuiltinFunctionType)
    + (types.CellType, types.GeneratorType, types.CoroutineType)
)


def containers(objects):
    """Containers among all objects. A class that overrides `__len__` is left out: the call would run the program's code."""
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, KINDS) and kind.__len__ in _LENGTHS}
    return [one for one in objects if type(one) in kinds and len(one) >= MIN_LENGTH]


def search(objects):
    """Return (dicts that the collector does not track, {type: (objects, references)} of what is not a container).

    The collector does not track a dict of numbers and strings alone (until Python 3.13), nor what C code holds. None
    for more objects than are searched.
    """
    if len(objects) > MAX_SEARCHED:
        return None
    by_type = collections.defaultdict(list)
    for one in objects:
        by_type[type(one)].append(one)
    untracked, inside = {}, {}
    for kind, own in by_type.items():
        references = 0
        for at in range(0, len(own), _BATCH):
            found = gc.get_referents(*own[at : at + _BATCH])
            references += len(found)
            for one in found:
                if type(one) is dict and len(one) >= MIN_UNTRACKED_LENGTH and not gc.is_tracked(one):
                    untracked[id(one)] = one
        if kind not in _NOT_SEARCHED and not issubclass(kind, (type, *KINDS)):
            inside[kind] = (len(own), references)
    return list(untracked.values()), inside


def grown_inside(before, now):
    """Types whose objects are not more than before and refer to more: a cache of `functools`, or of compiled code."""
    return {
        kind
        for kind, (count, references) in now.items()
        if kind in before and count <= before[kind][0] and references > before[kind][1]
    }


def probe_containers():
    """Identities of the containers and objects of the probe that its modules lead to. Objects of others are not entered."""
    level = [vars(module) for name, module in list(sys.modules.items()) if _is_probe(name)]
    # Every module refers to the built-in functions.
    found = {id(vars(builtins))}
    while level:
        found.update(map(id, level))
        entered = [one for one in level if type(one) not in KINDS or len(one) <= MAX_ENTERED]
        below = {id(one): one for one in gc.get_referents(*entered) if _is_entered(type(one))}
        level = [one for identity, one in below.items() if identity not in found]
    return found


def _is_entered(kind):
    return kind in _ENTERED or _is_probe(_MEMBERS(kind).get("__module__"))


def _is_probe(name):
    return type(name) is str and name.partition(".")[0] == _PROBE
