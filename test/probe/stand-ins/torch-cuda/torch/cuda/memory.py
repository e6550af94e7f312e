import torch


def _snapshot(device=None):
    return torch._C._cuda_memorySnapshot(None)


def reset_peak_memory_stats(device=0):
    return torch._C._cuda_resetPeakMemoryStats(device)
