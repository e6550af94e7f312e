"""One face for PyTorch's CUDA memory and for the stand-in of the tests, which only counts: bytes held, bytes reserved, and, for
the fake NVML, what a driver would see of the process.
"""

import sys

import torch

MIB = 1 << 20
STANDIN = "standin" in torch.__version__


class Real:
    scale = 1

    def begin(self):
        torch.cuda.init()
        # Kept: from the first tensor on there is a context and an allocator.
        self.first = self.hold(MIB)
        torch.cuda.synchronize()

    def hold(self, size):
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        # Memory that was never written may not be there yet.
        block.fill_(1)
        return block

    def give_back(self):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def reserved(self):
        torch.cuda.synchronize()
        return torch.cuda.memory_reserved()

    def peak_reserved(self):
        return torch.cuda.max_memory_reserved()

    def libraries(self):
        """cuBLAS and cuDNN, as loaded by a first step."""
        matrix = torch.randn(512, 512, device="cuda")
        (matrix @ matrix).sum().item()
        layer = torch.nn.Conv2d(8, 8, 3).cuda()
        layer(torch.randn(4, 8, 32, 32, device="cuda")).sum().backward()
        torch.cuda.synchronize()

    def communicator(self):
        """NCCL with a world size of one, or the reason why it is not available."""
        if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
            return "this PyTorch has no NCCL"
        store = torch.distributed.HashStore() if hasattr(torch.distributed, "HashStore") else None
        try:
            torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
            torch.distributed.all_reduce(torch.ones(1 << 20, device="cuda"))
            torch.cuda.synchronize()
        except Exception as error:
            return str(error)[-300:]
        return None

    def optimizer(self):
        return torch.optim.SGD([torch.nn.Parameter(torch.zeros(8, device="cuda"))], lr=0.1)

    def fraction(self, part):
        torch.cuda.set_per_process_memory_fraction(part)


class StandIn:
    # Sizes are divided by this: the stand-in's device has 1 GiB.
    scale = 16

    def begin(self):
        torch.cuda.init()
        torch._C.make_context(0)
        self.first = self.hold(MIB)

    def hold(self, size):
        torch._C.allocate(0, size)
        return _Block(size)

    def give_back(self):
        pass

    def _stats(self):
        return torch._C._cuda_memoryStats(0)["reserved_bytes"]["all"]

    def reserved(self):
        return self._stats()["current"]

    def peak_reserved(self):
        return self._stats()["peak"]

    def libraries(self):
        torch._C.load_libraries(0)

    def communicator(self):
        import torch.distributed

        torch.distributed.init_process_group("nccl")
        return None

    def optimizer(self):
        return torch.optim.SGD([0], lr=0.1)

    def fraction(self, part):
        pass


class _Block:
    def __init__(self, size):
        self.size = size

    def __del__(self):
        if not sys.is_finalizing():
            torch._C.release(0, self.size)


def device():
    return StandIn() if STANDIN else Real()
