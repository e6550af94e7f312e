"""What was seen at a moment, as rows of the documents that are written down."""

from .attribute_frames import shortened
from .attribute_graph import NODE_BYTES
from .attribute_keepers import Keeper, give_names
from .attribute_moment import user_line

# What a live tensor costs besides its payload: growth of mallinfo2 over 300 kept clones of 4 bytes to 400 kB, less the
# payload, was 387 to 403 bytes with torch 1.13 and 354 to 381 with 2.15 (storage, tensor, alignment).
STORAGE_BYTES = 370
MAX_NAMES = 24


class KeeperTable:
    """The keepers that rows of one document refer to by index."""

    def __init__(self, moment):
        self.moment = moment
        self.keepers = []
        self._index = {}

    def enter(self, row, keeper):
        """Let a row name its keeper; None is none."""
        if keeper is None:
            return
        index = self._index.get(keeper)
        if index is None:
            index = self._index[keeper] = len(self.keepers)
            self.keepers.append(keeper)
        row["keeper"] = index

    def told(self):
        """The keepers as they are written down."""
        give_names({id(one.object): one for one in self.keepers[:MAX_NAMES]})
        return [self._told(one) for one in self.keepers]

    def _told(self, keeper):
        moment = self.moment
        told = {"name": keeper.name, "owner": keeper.owner}
        if isinstance(keeper, Keeper):
            told["container"] = keeper.kind
            told["length"] = len(keeper.object)
            told["grown"] = keeper.grown
            told["stack"] = frames_told(moment.stacks.tell(shortened(keeper.frames)))
        else:
            group = moment.tensors.group_list[keeper.group]
            told["container"] = "gradient" if keeper.is_gradient else "graph"
            told["stack"] = frames_told(moment.stacks.tell(group.stack))
        evidence = moment.evidence.get(keeper)
        if evidence is not None:
            told["graphs"] = evidence.told()
        return told


def tensor_rows(moment, table):
    """Live tensors and graphs, largest first."""
    rows = []
    stacks, groups = moment.stacks, moment.tensors.group_list
    for index, (size, count, survived) in moment.sizes.items():
        group = groups[index]
        row = {
            "bytes": size + count * STORAGE_BYTES,
            "count": count,
            "kind": "tensor" if group.device == "cpu" else "tensor:" + group.device,
            "operator": group.operator,
            "grad": group.grad,
            "survived_bytes": survived,
            "stack": frames_told(stacks.tell(group.stack)),
        }
        if group.autocast:
            row["autocast"] = True
        if group.of_backward:
            row["copied_from"] = "backward"
        table.enter(row, moment.by_group.of(index))
        rows.append(row)
    for index, keeper, nodes in moment.graph_rows:
        stack = frames_told(stacks.tell(groups[index].stack))
        row = {"bytes": nodes * NODE_BYTES, "count": nodes, "kind": "graph", "stack": stack}
        table.enter(row, keeper)
        rows.append(row)
    rows.sort(key=_bytes, reverse=True)
    return rows


def python_rows(moment, live, table):
    """Python memory: `live` are (bytes, count, kind, frames)."""
    rows = []
    for size, count, kind, frames in live:
        stack = frames_told(moment.stacks.tell(shortened(frames)))
        row = {"bytes": size, "count": count, "kind": kind, "stack": stack}
        line = user_line(frames)
        table.enter(row, None if line is None else moment.by_line.of(line))
        rows.append(row)
    return rows


def device_rows(moment, blocks, table):
    """What keepers hold on devices: `blocks` maps (device, address) to (bytes, frames) of the device's own history."""
    rows = []
    seen = set()
    for device, address, keeper in moment.on_devices:
        block = blocks.get((device, address))
        if block is None or (device, address) in seen:
            continue
        seen.add((device, address))
        row = {"device": device, "bytes": block[0], "stack": frames_told(block[1])}
        table.enter(row, keeper)
        rows.append(row)
    return rows


def frames_told(told):
    """(file, line, function) as they stand in a document."""
    return [{"file": file, "line": line or 0, "function": function} for file, line, function in told]


def _bytes(row):
    return row["bytes"]
