"""Live autograd graphs: what they keep, and which tensor keeps them.

A kept loss keeps its whole graph: the nodes after a backward pass, and every saved activation before one. Neither
is a Python object, so the tensors that have a graph are taken from the garbage collector and the graph is walked from them.
"""

import time

from .cuda import MODULES

# What one node of a graph costs with what belongs to it: growth of mallinfo2 over 300 kept graphs whose buffers were
# freed, divided by their nodes, was 726 to 948 bytes (linear, convolution and batch-norm layers; torch 1.13 and 2.15).
NODE_BYTES = 760
# Bounds of one walk: nodes, and seconds.
MAX_NODES = 200000
MAX_SECONDS = 2.0

_FREED = "second time"


class Root:
    """A tensor and what only its graph holds on to."""

    __slots__ = ("tensor", "outer", "nodes", "saved", "on_devices", "freed", "parameters", "leaves")

    def __init__(self, tensor):
        self.tensor = tensor
        # The root whose graph this one turned out to be a part of.
        self.outer = None
        self.nodes = 0
        # Addresses of the storages that nodes saved for a backward pass.
        self.saved = []
        # Those of them that a device's own history knows, as (device, address).
        self.on_devices = []
        # Whether some node gave up what it saved: a backward pass went through.
        self.freed = False
        # Leaves the graph ends in: parameters of a model, and tensors that were made to require gradients by hand.
        self.parameters = 0
        self.leaves = 0

    def top(self):
        """The outermost root whose graph this one is a part of; itself when none is known."""
        one = self
        while one.outer is not None:
            one = one.outer
        return one


def graph_of(tensor):
    """The node a tensor's graph begins with; None for one without a graph.

    Views of a leaf are left out: where the leaf was changed in place (by every optimizer step), asking one for its node makes
    torch build a new one.
    """
    try:
        if not tensor.requires_grad or tensor.is_leaf:
            return None
        if tensor._is_view() and tensor._base is not None and tensor._base.is_leaf:
            return None
        return tensor.grad_fn
    except Exception:  # noqa: BLE001 (a subclass may refuse)
        return None


def device_address(tensor):
    """("cuda:0", address) of the memory behind a tensor of a device whose history is recorded; None for others."""
    try:
        device = tensor.device
        if device.type not in MODULES:
            return None
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()
        return "%s:%d" % (device.type, device.index or 0), storage.data_ptr()
    except Exception:  # noqa: BLE001 (sparse, fake, or a subclass that refuses)
        return None


class HookWatch:
    """Records whether the program unpacks saved tensors by its own hooks, which the probe must not run."""

    def __init__(self, torch):
        self.used = False
        hooks = getattr(getattr(torch.autograd, "graph", None), "saved_tensors_hooks", None)
        if hooks is None:
            return
        entered = hooks.__enter__
        watch = self

        def __enter__(self):
            watch.used = True
            return entered(self)

        hooks.__enter__ = __enter__


class GraphWalk:
    """Walks the graphs of one moment; a node belongs to the first root that reaches it."""

    def __init__(self, torch, address_of, unpack):
        self.parameter = torch.nn.Parameter
        self.tensor = torch.Tensor
        self.address_of = address_of
        self.unpack = unpack
        self.truncated = False
        self._seen = set()
        self._begins = {}
        self._attributes = {}
        self._deadline = time.monotonic() + MAX_SECONDS

    def walk(self, tensor):
        """The nodes only reached from `tensor` among all walked so far, and what they saved."""
        root = Root(tensor)
        begin = graph_of(tensor)
        seen, begins = self._seen, self._begins
        waiting = [begin]
        while waiting:
            node = waiting.pop()
            if node is None:
                continue
            if node in seen:
                inner = begins.get(node)
                if inner is not None and inner is not root and inner.outer is None and root.top() is not inner:
                    inner.outer = root
                continue
            if len(seen) >= MAX_NODES or (root.nodes % 256 == 255 and time.monotonic() > self._deadline):
                self.truncated = True
                break
            # The wrapper is kept, because the identity of the node ends with it.
            seen.add(node)
            if node is begin:
                begins[node] = root
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                if isinstance(leaf, self.parameter):
                    root.parameters += 1
                else:
                    root.leaves += 1
                    root.saved.append(self.address_of(leaf))
                continue
            root.nodes += 1
            if self.unpack:
                for value in self._unpacked(node, root):
                    root.saved.append(self.address_of(value))
                    location = device_address(value)
                    if location is not None:
                        root.on_devices.append(location)
                    # A saved tensor has a graph of its own, which no edge of this node need lead to.
                    waiting.append(graph_of(value))
            for edge in node.next_functions:
                waiting.append(edge[0])
        return root

    def _unpacked(self, node, root):
        """The tensors a node saved for its backward pass."""
        kind = type(node)
        names = self._attributes.get(kind)
        if names is None:
            names = self._attributes[kind] = tuple(
                name for name in dir(kind) if name.startswith("_saved_") or name == "saved_tensors"
            )
        found = []
        for name in names:
            try:
                value = getattr(node, name)
            except RuntimeError as error:
                if _FREED in str(error):
                    root.freed = True
                    break
                continue
            except Exception:  # noqa: BLE001 (a node of a user's own function may raise anything)
                continue
            values = value if isinstance(value, (tuple, list)) else (value,)
            found.extend(one for one in values if isinstance(one, self.tensor))
        return found
