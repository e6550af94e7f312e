"""A caching allocator in miniature, as PyTorch's: segments from the driver, blocks split off them and put together again,
a ring of trace entries. Addresses repeat, as those of a real cache do."""

ROUND = 512
SMALL_LIMIT = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20


class Block:
    def __init__(self, segment, address, size):
        self.segment = segment
        self.address = address
        self.size = size
        self.requested = 0
        self.state = "inactive"
        self.frames = []


class Segment:
    def __init__(self, device, address, size, large, stream, pool, frames):
        self.device = device
        self.address = address
        self.size = size
        self.large = large
        self.stream = stream
        self.pool = pool
        self.frames = frames
        self.blocks = [Block(self, address, size)]


class Allocator:
    """One device. `clock` is a list of one number: microseconds, shared by devices."""

    def __init__(self, device, base, clock, capacity):
        self.device = device
        self.next_address = base
        self.clock = clock
        self.capacity = capacity
        self.segments = []
        self.trace = []
        self.recording = False

    def note(self, action, address, size, stream, frames, pool):
        self.clock[0] += 7
        if not self.recording:
            return
        self.trace.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": stream,
                "time_us": self.clock[0],
                "pool": pool,
                "frames": frames,
            }
        )
        if len(self.trace) > self.capacity:
            del self.trace[0]

    def alloc(self, requested, frames, stream=0, pool=(0, 0)):
        size = -(-requested // ROUND) * ROUND
        large = size > SMALL_LIMIT
        block = self._find(size, large, stream, pool) or self._grow(size, large, stream, pool, frames)
        segment = block.segment
        if block.size - size >= (SMALL_LIMIT if large else ROUND):
            rest = Block(segment, block.address + size, block.size - size)
            block.size = size
            segment.blocks.insert(segment.blocks.index(block) + 1, rest)
        block.requested = requested
        block.state = "active_allocated"
        block.frames = frames if self.recording else []
        self.note("alloc", block.address, requested, stream, frames, pool)
        return block

    def free(self, block, frames, pending=False):
        """`pending`: another stream still uses the block, so that it stays active."""
        self.note("free_requested", block.address, block.requested, block.segment.stream, frames, block.segment.pool)
        if pending:
            block.state = "active_pending_free"
        else:
            self.complete(block, frames)

    def complete(self, block, frames):
        segment = block.segment
        self.note("free_completed", block.address, block.requested, segment.stream, frames, segment.pool)
        block.state = "inactive"
        block.requested = 0
        block.frames = []
        at = segment.blocks.index(block)
        for neighbour in (at, at - 1):
            if 0 <= neighbour < len(segment.blocks) - 1:
                one, two = segment.blocks[neighbour], segment.blocks[neighbour + 1]
                if one.state == two.state == "inactive":
                    one.size += two.size
                    segment.blocks.remove(two)

    def out_of_memory(self, size, free, frames):
        self.note("oom", free, size, 0, frames, (0, 0))

    def _find(self, size, large, stream, pool):
        fits = [
            block
            for segment in self.segments
            if segment.large == large and segment.stream == stream and segment.pool == pool
            for block in segment.blocks
            if block.state == "inactive" and block.size >= size
        ]
        return min(fits, key=lambda block: (block.size, block.address), default=None)

    def _grow(self, size, large, stream, pool, frames):
        total = max(size, LARGE_SEGMENT) if large else SMALL_SEGMENT
        total = -(-total // SMALL_SEGMENT) * SMALL_SEGMENT
        segment = Segment(self.device, self.next_address, total, large, stream, pool, frames if self.recording else [])
        self.next_address += total + (2 << 20)
        self.segments.append(segment)
        self.note("segment_alloc", segment.address, total, stream, frames, pool)
        return segment.blocks[0]
