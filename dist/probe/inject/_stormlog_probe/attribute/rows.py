"""One moment as rows of the lines documents."""

from .frames import frame_row, shortened
from .graph import NODE_BYTES
from .retainers import Retainer, give_names
from .moment import user_line

# What a live tensor costs besides its payload: growth of mallinfo2 over 300 kept clones of 4 bytes to 400 kB, less the
# payload, was 387 to 403 bytes with torch 1.13 and 354 to 381 with 2.15 (storage, tensor, alignment).
STORAGE_BYTES = 370
MAX_NAMES = 24


class RetainerTable:
    """The retainers that rows of one document refer to by index."""

    def __init__(self, moment):
        self.moment = moment
        self.retainers = []
        self._index = {}

    def enter(self, row, retainer):
        """Set the retainer of a row, None for a row without one."""
        if retainer is None:
            return
        index = self._index.get(retainer)
        if index is None:
            index = self._index[retainer] = len(self.retainers)
            self.retainers.append(retainer)
        row["retainer"] = index

    def rows(self):
        """The retainers as rows of the document."""
        give_names({id(one.object): one for one in self.retainers[:MAX_NAMES]})
        return [self._row(one) for one in self.retainers]

    def _row(self, retainer):
        moment = self.moment
        row = {"name": retainer.name, "owner": retainer.owner}
        if isinstance(retainer, Retainer):
            row["container"] = retainer.kind
            row["length"] = retainer.length
            row["grown"] = retainer.grown
            row["stack"] = moment.stacks.resolve(shortened(retainer.frames))
        else:
            group = moment.tensors.group_list[retainer.group]
            row["container"] = "gradient" if retainer.is_gradient else "graph"
            row["stack"] = moment.stacks.resolve(group.stack)
        evidence = moment.evidence.get(retainer)
        if evidence is not None:
            row["graphs"] = evidence.counts()
        return row


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
            "stack": stacks.resolve(group.stack),
        }
        if group.autocast:
            row["autocast"] = True
        if group.of_backward:
            row["copied_from"] = "backward"
        table.enter(row, moment.by_group.of(index))
        rows.append(row)
    for index, retainer, nodes in moment.graph_rows:
        row = {"bytes": nodes * NODE_BYTES, "count": nodes, "kind": "graph", "stack": stacks.resolve(groups[index].stack)}
        table.enter(row, retainer)
        rows.append(row)
    rows.sort(key=_bytes, reverse=True)
    return rows


def python_rows(moment, live, table):
    """Python memory: `live` are (bytes, count, kind, frames)."""
    rows = []
    for size, count, kind, frames in live:
        row = {"bytes": size, "count": count, "kind": kind, "stack": moment.stacks.resolve(shortened(frames))}
        line = user_line(frames)
        table.enter(row, None if line is None else moment.by_line.of(line))
        rows.append(row)
    return rows


def device_rows(moment, blocks, table):
    """What retainers hold on devices: `blocks` maps (device, address) to (bytes, frames) of the device's own history."""
    rows = []
    seen = set()
    for device, address, retainer in moment.on_devices:
        block = blocks.get((device, address))
        if block is None or (device, address) in seen:
            continue
        seen.add((device, address))
        row = {"device": device, "bytes": block[0], "stack": [frame_row(*frame) for frame in block[1]]}
        table.enter(row, retainer)
        rows.append(row)
    return rows


def _bytes(row):
    return row["bytes"]
