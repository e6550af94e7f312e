"""One moment: live memory by allocation stack, and its retainers."""

import gc
import types

from .frames import USER, mark_of, object_traceback
from .graph import GraphWalk, device_address, graph_of
from .retainers import growth_frames, hanging_on, new_elements


class GraphRetainer:
    """A tensor whose graph keeps memory, where no container is known that holds the tensor."""

    __slots__ = ("object", "group", "name", "owner", "is_gradient")

    def __init__(self, tensor, group, is_gradient):
        self.object = tensor
        self.group = group
        self.name = None
        self.owner = None
        self.is_gradient = is_gradient


class Evidence:
    """Counts of the graphs that hang on one retainer, by kind."""

    __slots__ = ("roots", "scalars", "freed", "saving", "leaves", "parameters")

    def __init__(self):
        self.roots = self.scalars = self.freed = self.saving = self.leaves = self.parameters = 0

    def add(self, root, outermost):
        if outermost:
            self.roots += 1
            self.scalars += root.top().tensor.numel() == 1
        self.freed += root.freed
        self.saving += bool(root.saved)
        self.leaves += root.leaves > 0
        self.parameters += root.parameters > 0

    def counts(self):
        return {name: getattr(self, name) for name in self.__slots__}


class Holding:
    """Weights of the retainers of a group or line. The heaviest is taken for the retainer."""

    def __init__(self):
        self._weights = {}

    def add(self, what, retainer, weight):
        weights = self._weights.setdefault(what, {})
        weights[retainer] = weights.get(retainer, 0) + weight

    def all(self):
        return list(self._weights)

    def of(self, what):
        weights = self._weights.get(what)
        return None if not weights else max(weights, key=weights.get)


class Moment:
    """Reads the process once. `tensors` is the tracker or None. `retainers` follows the containers from moment to moment."""

    def __init__(self, stacks, torch, tensors, retainers, hooks, in_program):
        self.stacks = stacks
        self.torch = torch
        self.tensors = tensors
        self.retainers = retainers
        # Graphs are only unpacked by the thread that runs the program, between two operators, and never through its
        # hooks.
        self.unpack = in_program and hooks is not None and not hooks.used
        self.by_group = Holding()
        self.by_line = Holding()
        self.evidence = {}
        self.facts = {}
        self.notes = []
        self.sizes = {}
        self.graph_rows = []
        self.root_retainers = {}
        # (device, address, retainer) of memory that a device's own history knows.
        self.on_devices = []

    def look(self):
        """Find the retainers; and with torch, the live tensors and graphs."""
        if self.tensors is not None:
            self.tensors.sweep()
        # The interpreter refuses to resize a tuple that other code holds, and another thread may be filling one: none
        # is left when its turn comes.
        objects = [one for one in gc.get_objects() if type(one) is not tuple]
        containers = self.retainers.grown(objects)
        live = {}
        if self.tensors is not None:
            for address, size, group, sequence, epoch in self.tensors.live():
                live[address] = (size, group, sequence, epoch)
        self._hang(containers, live)
        if self.tensors is not None:
            self._graphs(objects, live)
        self._sum(live)

    def retained_lines(self):
        """Rows of no bytes for the lines that make what containers gain."""
        return [(0, 0, "python", (line,)) for line in self.by_line.all()]

    # Containers.

    def _hang(self, containers, live):
        # A torch that is still being imported has no tensors.
        tensor_class = getattr(self.torch, "Tensor", None)
        for retainer in containers:
            elements = new_elements(retainer)
            retainer.frames = growth_frames(retainer.object) or made_at(elements)
            for element in elements:
                for one, level in hanging_on(element, tensor_class):
                    if tensor_class is not None and isinstance(one, tensor_class):
                        self._hang_tensor(one, level, retainer, live)
                    frames = None if isinstance(one, (type, types.ModuleType)) else object_traceback(one)
                    line = user_line(frames) if frames else None
                    if line is not None:
                        self.by_line.add(line, retainer, 1 / (1 + level) ** 2)

    def _hang_tensor(self, tensor, level, retainer, live):
        location = device_address(tensor)
        if location is not None:
            self.on_devices.append(location + (retainer,))
        if self.tensors is None:
            return
        row = live.get(self.tensors.address(tensor))
        if row is not None and row[3] > 0:
            self.by_group.add(row[1], retainer, row[0] / (1 + level))
        if graph_of(tensor) is not None:
            self.root_retainers[id(tensor)] = retainer

    # Graphs.

    def _graphs(self, objects, live):
        tensors = self.tensors
        torch = tensors.torch
        roots, optimizers, gradients, known = [], 0, set(), {}
        for one in objects:
            kind = type(one)
            judged = known.get(kind)
            if judged is None:
                judged = known[kind] = _judge(kind, torch)
            if judged == _TENSOR:
                if graph_of(one) is not None:
                    roots.append(one)
            elif judged == _PARAMETER:
                gradient = one.grad
                if gradient is not None and graph_of(gradient) is not None:
                    gradients.add(tensors.address(gradient))
                    roots.append(gradient)
            elif judged == _OPTIMIZER:
                optimizers += 1
        never = tensors.gradients_never_zeroed()
        self.facts = {"optimizers": optimizers, "gradients_never_zeroed": never}
        roots = {id(one): one for one in roots}
        rows = [live.get(tensors.address(one), (0, None, 0, 0)) + (one,) for one in roots.values()]
        # The newest first: it reaches what older tensors of its own graph would otherwise claim.
        rows.sort(key=_sequence, reverse=True)
        walk = GraphWalk(torch, tensors.address, self.unpack)
        group_of = tensors.graph_group
        walked = [
            (None if group is None else group_of(tensors.address(one), group), walk.walk(one)) for _, group, _, _, one in rows
        ]
        if walk.truncated:
            self.notes.append("there were too many autograd nodes to walk them all")
        self._give_to_retainers(walked, gradients, live)

    def _give_to_retainers(self, walked, gradients, live):
        group_of = {id(root): group for group, root in walked}
        # Only some elements of a container were read. Others of the same group are likely in it too.
        likely = {}
        for group, root in walked:
            retainer = self.root_retainers.get(id(root.tensor))
            if retainer is not None and group is not None:
                likely[group] = retainer
        nodes, pseudo, counted = {}, {}, set()
        for _, root in walked:
            top = root.top()
            group = group_of[id(top)]
            retainer = self.root_retainers.get(id(top.tensor)) or likely.get(group)
            if retainer is None:
                if group is None:
                    # Made on a device, or before the tensors were recorded: its stack is unknown.
                    continue
                retainer = pseudo.get(group)
                if retainer is None:
                    is_gradient = self.tensors.address(top.tensor) in gradients
                    retainer = pseudo[group] = GraphRetainer(top.tensor, group, is_gradient)
            evidence = self.evidence.get(retainer)
            if evidence is None:
                evidence = self.evidence[retainer] = Evidence()
            evidence.add(root, id(top) not in counted)
            counted.add(id(top))
            for address in root.saved:
                row = live.get(address)
                if row is not None and row[3] > 0:
                    self.by_group.add(row[1], retainer, row[0])
            self.on_devices.extend(location + (retainer,) for location in root.on_devices)
            if group is not None and root.nodes:
                key = (group, retainer)
                nodes[key] = nodes.get(key, 0) + root.nodes
        self.graph_rows = [(group, retainer, count) for (group, retainer), count in nodes.items()]

    # Sums.

    def _sum(self, live):
        sizes = self.sizes
        epoch = 0 if self.tensors is None else self.tensors.epoch
        for size, group, _, born in live.values():
            row = sizes.get(group)
            if row is None:
                row = sizes[group] = [0, 0, 0]
            row[0] += size
            row[1] += 1
            if born < epoch:
                row[2] += size


def made_at(elements):
    """Stack of one of the elements: a set's buffer, or a dict's, may not have moved since Python's memory is traced."""
    objects = [one for one in reversed(elements) if not isinstance(one, (type, types.ModuleType))]
    return next(filter(None, map(object_traceback, objects)), ())


def user_line(frames):
    """The innermost user frame (file, line); None without one."""
    for frame in frames:
        if mark_of(frame[0]) == USER:
            return frame
    return None


_OTHER, _TENSOR, _PARAMETER, _OPTIMIZER = 0, 1, 2, 3


def _judge(kind, torch):
    if not isinstance(kind, type):
        return _OTHER
    if issubclass(kind, torch.nn.Parameter):
        return _PARAMETER
    if issubclass(kind, torch.Tensor):
        return _TENSOR
    if issubclass(kind, torch.optim.Optimizer):
        return _OPTIMIZER
    return _OTHER


def _sequence(row):
    return row[2]
