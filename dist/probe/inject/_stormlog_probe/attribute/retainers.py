"""Retainers: the containers that grow from moment to moment, the lines that make them grow, and what they reach.

The line that allocates is often not the line that leaks: an activation is made in a layer and kept by a hook's `append`. A
container's buffer is reallocated as it grows, and tracemalloc knows by which line.
"""

import array
import collections
import gc
import itertools
import sys
import types
import weakref

from .frames import USER, made_for_probe, mark_of, object_traceback, running_frames
from .releases import block_query
from .structures import KINDS, containers, grown_inside, probe_containers, search

# Containers whose lengths are noted, and of these the oldest ones: each takes 4 µs while Python's memory is traced.
MAX_FOLLOWED = 20_000
MAX_OLDEST = 15_000
# Containers that get a fingerprint: those that grew, most growth first, and the newest up to a length (a list is copied
# for it), which may grow from now on. And those that grew and are looked into at one moment.
MAX_FINGERPRINTS = 256
MAX_NEW_FINGERPRINTS = 500
MAX_NEW_LENGTH = 10_000
MAX_RETAINERS = 48
# Elements in a fingerprint, the size up to which they count by value, and elements of a set that are searched for one.
FIRST = 4
MAX_HASHED_BYTES = 4096
MAX_PLACES = 16
# New objects of which the referrers are looked for. Which are new takes 4 µs for every object there is while Python's
# memory is traced (Python 3.11): with more than these it would take most of a pause.
NEWEST = 64
MAX_KNOWN = 40_000
# New elements looked into per container, objects per element, and levels below an element.
ELEMENTS = 12
OBJECTS = 300
LEVELS = 6

# Offset of the pointer to the buffer in the object, and the size of an object whose layout is the known one (64 bit,
# with GIL).
_BUFFERS = {
    list: (24, 40),
    dict: (32, 48),
    set: (40, 200),
    collections.deque: (32, None),
}
_VALUES = frozenset((str, bytes, int, float))
_NOT_ENTERED = (type, types.ModuleType, types.CodeType, types.FrameType, types.BuiltinFunctionType)


class Retainer:
    """A container that grew since the moment before; `before` is its length then, `length` its length now."""

    __slots__ = ("object", "before", "length", "frames", "name", "owner")

    def __init__(self, container, before):
        self.object = container
        self.before = before
        self.length = len(container)
        self.frames = ()
        self.name = None
        self.owner = None

    @property
    def kind(self):
        return type(self.object).__name__

    @property
    def grown(self):
        return self.length - self.before


class Retainers:
    """Follows the lengths of all containers from moment to moment."""

    def __init__(self):
        # Identities and lengths, of those that grew at how many moments in a row, and of some their fingerprints.
        # Arrays: a dict of as many entries would be tens of thousands of traced blocks of our own at the next moment.
        self._noted = None
        self._streaks = ((), ())
        self._fingerprints = ((), ())
        self._comparisons = 0
        # Of the moment before: the number of all objects, and where it climbed their identities.
        self._count = None
        self._identities = None
        # What the types of other objects refer to, and those that refer to more at every moment.
        self._inside = None
        self._growing_types = None
        #: Of the last look at all objects: their number, containers and types that grew at every moment, and of the
        #: newest objects how many were looked into and how many nothing refers to.
        self.seen = None

    def grown(self, objects):
        """Among all objects the containers that grew since the moment before, the most steadily growing first; none at the
        first moment."""
        # Before lists of our own refer to some of them. Making integers is slow while Python traces allocations, so
        # identities are only collected when the number of objects rises.
        climbs = (self._count is None or self._count < len(objects)) and len(objects) <= MAX_KNOWN
        newest = unreferenced(objects, set(self._identities)) if climbs and self._identities is not None else {}
        self._identities = _identities(objects) if climbs else None
        self._count = len(objects)
        searched = search(objects)
        untracked, inside = searched or ([], None)
        followed, whole = _followed(containers(objects) + untracked)
        before = None if self._noted is None else dict(zip(*self._noted))
        streaks = dict(zip(*self._streaks))
        found = []
        if before is not None:
            own = probe_containers()
            for one in followed:
                # A container that was too short to be noted, or is new, may be growing: the next moment decides.
                known = before.get(id(one))
                if known is not None and len(one) > known and id(one) not in own:
                    found.append((streaks.get(id(one), 0) + 1, len(one) - known, one, known))
        steady = 0
        if before is not None:
            self._comparisons += 1
            # By address alone: "nothing grows" is evidence of a lost reference, so a possible growth counts against it.
            steady = sum(row[0] == self._comparisons and not _lists_subclasses(row[2]) for row in found)
        if inside is not None and self._inside is not None:
            grew = grown_inside(self._inside, inside)
            self._growing_types = grew if self._growing_types is None else self._growing_types & grew
            steady += len(self._growing_types)
        self._inside = inside
        # Whether anything grows is not known where some is not followed.
        known = (whole and inside is not None) or steady > 0
        self.seen = {"objects": len(objects), "steady_containers": steady} if known else {}
        self.seen.update(newest)
        self._noted = (_identities(followed), array.array("Q", map(len, followed)))
        self._streaks = (_identities([row[2] for row in found]), array.array("Q", [row[0] for row in found]))
        # Those that grew at more moments first: at the first comparison everything that fills up looks like a leak.
        found.sort(key=lambda row: row[:2], reverse=True)
        same = self._same(found[:MAX_FINGERPRINTS], followed)
        if self._comparisons >= 3:
            # Leaks grow from moment to moment. What grew once holds no leak, whatever hangs on it.
            same = [row for row in same if row[0] >= 2]
        kept = [row for row in same[:MAX_RETAINERS] if not made_for_probe(object_traceback(row[2]) or ())]
        return [Retainer(one, length) for _, _, one, length in kept]

    def _same(self, found, followed):
        """Of the containers that grew those that are the same as at the moment before: addresses are reused."""
        before = dict(zip(*self._fingerprints))
        newest = [one for one in followed[-MAX_NEW_FINGERPRINTS:] if len(one) <= MAX_NEW_LENGTH]
        hashes, same = array.array("q", [_fingerprints(one, 0)[0] for one in newest]), []
        for row in found:
            now = _fingerprints(row[2], row[1])
            hashes.append(now[0])
            if before.get(id(row[2])) in now:
                same.append(row)
        self._fingerprints = (_identities(newest + [row[2] for row in found]), hashes)
        return same


def _followed(found):
    """The containers whose lengths are noted, and whether these are all of them."""
    if len(found) <= MAX_FOLLOWED:
        return found, True
    # After a collection the oldest come first, and what keeps a leak is older than what it keeps, or longer.
    oldest, others = found[:MAX_OLDEST], found[MAX_OLDEST:]
    others.sort(key=len, reverse=True)
    return oldest + others[: MAX_FOLLOWED - MAX_OLDEST], False


def _identities(objects):
    """Identities of the objects of a list, copied from its buffer where the layout is known: each integer would be a traced block."""
    if objects and _layout_known(list, _BUFFERS[list][1]):
        import ctypes

        pointer = ctypes.c_void_p.from_address(id(objects) + _BUFFERS[list][0]).value
        found = array.array("Q")
        found.frombytes(ctypes.string_at(pointer, 8 * len(objects)))
        return found
    return array.array("Q", map(id, objects))


def _fingerprints(container, growth):
    """Hashes of type, allocation and first elements: the present one, then those that it may have had before."""
    kind = type(container)
    about = hash((id(kind), object_traceback(container)))
    base = next(base for base in KINDS if issubclass(kind, base))
    # A list as in `new_elements`: from the end on, without empty slots. A class of the program may iterate otherwise.
    walk = reversed(gc.get_referents(container)) if base is list else base.__iter__(container)
    elements = list(itertools.islice(walk, growth + FIRST))
    # New elements of a set may precede the old ones. Others may have grown at their front.
    firsts = [[one] for one in elements[:MAX_PLACES]] if base is set else [elements[:FIRST], elements[growth:]]
    return [hash((about, *map(_element_key, first))) for first in firsts]


def _element_key(element):
    # The addresses of elements are reused, too. Only these values are hashed without running code of the program.
    is_value = type(element) in _VALUES and sys.getsizeof(element) <= MAX_HASHED_BYTES
    return hash(element) if is_value else (id(element), id(type(element)))


def _lists_subclasses(container):
    """Whether it is the interpreter's own list of a type's subclasses, which grows by every class that is loaded."""
    newest = next(reversed(container.values()), None) if type(container) is dict else None
    return type(newest) is weakref.ref and isinstance(newest(), type)


def unreferenced(objects, known):
    """How many of a sample of the objects outside of the `known` identities nothing refers to."""
    new = [one for one in objects if id(one) not in known and type(one) not in _NOT_ENTERED]
    # Spread by a prime: what is made together, a dict and its values, comes in turns.
    some = tuple(new[index * 7919 % len(new)] for index in range(min(NEWEST, len(new))))
    wanted = {id(one) for one in some}
    held = set()
    for referrer in gc.get_referrers(*some) if some else ():
        if not any(referrer is ours for ours in (objects, new, some)):
            held.update(id(one) for one in gc.get_referents(referrer) if id(one) in wanted)
    return {"newest": len(wanted), "unreferenced": len(wanted - held)}


def growth_frames(container):
    """Stack (file, line), innermost first, of the allocation of a container's buffer: where it last grew; () when unknown."""
    kind = type(container)
    if kind in (collections.OrderedDict, collections.defaultdict):
        kind = dict
    layout = _BUFFERS.get(kind)
    query = block_query()
    if layout is None or query is None or not _layout_known(kind, layout[1]):
        return ()
    import ctypes

    pointer = ctypes.c_void_p.from_address(id(container) + layout[0]).value
    if not pointer:
        return ()
    frames = query(0, pointer)
    return frames if isinstance(frames, tuple) else ()


def _layout_known(kind, size):
    # Objects begin with more in a build without GIL, "t". Not by `sysconfig`: loading it gives other threads a turn.
    if sys.maxsize < 2**32 or "t" in sys.abiflags:
        return False
    return size is None or kind.__basicsize__ == size


def new_elements(retainer):
    """A few of the elements that a container gained since the moment before."""
    container = retainer.object
    # A list grows at its end or at its front.
    newest = min(ELEMENTS, retainer.grown)
    if type(container) is list:
        # The collector looks from the end on and passes over the empty slots of a list that was left half-built;
        # iterating would follow them.
        held = gc.get_referents(container)
        return held[:newest] + held[-2:]
    if isinstance(container, (list, collections.deque)):
        return list(itertools.islice(reversed(container), newest)) + list(itertools.islice(container, 2))
    if isinstance(container, dict):
        try:
            return [one for pair in itertools.islice(reversed(container.items()), ELEMENTS) for one in pair]
        except TypeError:
            return list(itertools.islice(container.values(), ELEMENTS))
    return list(itertools.islice(container, ELEMENTS))


def hanging_on(element, tensor_class):
    """Yield (object, level) of what an element holds, itself at level 0; tensors are not looked into."""
    seen = {id(element)}
    level, count = [element], 0
    for depth in range(LEVELS):
        below = []
        for one in level:
            count += 1
            if count > OBJECTS:
                return
            yield one, depth
            if tensor_class is not None and isinstance(one, tensor_class):
                continue
            for child in _held_by(one):
                if id(child) not in seen and not isinstance(child, _NOT_ENTERED):
                    seen.add(id(child))
                    below.append(child)
        level = below


def _held_by(one):
    if isinstance(one, types.FunctionType):
        # What a closure holds, not the whole module its globals are.
        held = [cell.cell_contents for cell in one.__closure__ or () if _filled(cell)]
        return held + list(one.__defaults__ or ())
    if isinstance(one, types.TracebackType):
        # An exception keeps the variables of the functions it left. The main file's are its module's.
        frame = one.tb_frame
        held = gc.get_referents(frame) if frame.f_code.co_flags & _OPTIMIZED else []
        return [one.tb_next] + [value for value in held if value is not frame.f_globals and value is not frame.f_builtins]
    if isinstance(one, (str, bytes, bytearray, int, float, complex)):
        return ()
    return gc.get_referents(one)


def _filled(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def give_names(wanted):
    """Set `name` and `owner` of retainers by the variables, globals and attributes that hold them.

    `wanted` maps identities to objects with the attributes `object`, `name` and `owner`.
    """
    left = dict(wanted)

    def look(namespace, owner):
        for name, value in list(namespace.items()):
            retainer = left.pop(id(value), None) if id(value) in left else None
            if retainer is not None and retainer.object is value:
                retainer.name, retainer.owner = name, owner

    for frame in running_frames():
        while frame is not None and left:
            if mark_of(frame.f_code.co_filename) == USER:
                owner = None if frame.f_code.co_name == "<module>" else frame.f_code.co_name
                variables = frame.f_locals
                look(variables, owner)
                _forget(frame, variables)
            frame = frame.f_back
    for module in list(sys.modules.values()):
        if not left:
            return
        filename = getattr(module, "__file__", None)
        if isinstance(filename, str) and mark_of(filename) == USER:
            look(vars(module), None)
    for retainer in list(left.values()):
        _name_by_attribute(retainer)


# inspect.CO_OPTIMIZED: the code of a function, whose variables are not a dict of its own.
_OPTIMIZED = 1


def _forget(frame, variables):
    """Empty the copy of a function's variables that reading them made: it would keep what they held, and look like a
    container that grows. A copy that the program holds too (`locals()`) is left alone.
    """
    # Held by the frame, the caller's variable, this argument and that of getrefcount.
    if frame.f_code.co_flags & _OPTIMIZED and type(variables) is dict and sys.getrefcount(variables) <= 4:
        variables.clear()


def _name_by_attribute(retainer):
    for referrer in gc.get_referrers(retainer.object):
        holders = [referrer]
        if type(referrer) is dict:
            # The __dict__ of an instance, where it has one of its own.
            holders = [one for one in gc.get_referrers(referrer) if getattr(one, "__dict__", None) is referrer]
        for holder in holders:
            names = getattr(holder, "__dict__", None)
            if not isinstance(names, dict) or holder is retainer or isinstance(holder, (type, types.ModuleType)):
                continue
            for name, value in list(names.items()):
                if value is retainer.object:
                    retainer.name, retainer.owner = name, type(holder).__name__
                    return
