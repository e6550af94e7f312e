"""Gradient buckets kept by a communication hook, under DistributedDataParallel.

The hook that averages gradients over the ranks also keeps every bucket as it was before, to find out later which rank diverged.
Every rank keeps its own.

Keeps with every step, on every rank: all gradients in their buckets, the size of the parameters (tiny: 0.7 MiB, article: 43 MiB).
"""

from collections import deque

from leaklab.ranks import main

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def prepare(lab):
    lab.model = DistributedDataParallel(lab.model, device_ids=[lab.device.index] if lab.device.type == "cuda" else None)


def averaged(bucket):
    """The bucket's mean over the ranks, as a future."""
    reduced = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
    return reduced.get_future().then(lambda future: future.value()[0])


def leaky(lab):
    # leak begins
    buckets = []

    def hook(state, bucket):
        buckets.append(bucket.buffer().clone())
        return averaged(bucket)

    # leak ends
    lab.model.register_comm_hook(None, hook)
    return lab.train_step


def fixed(lab):
    norms = deque(maxlen=24)

    def hook(state, bucket):
        norms.append((bucket.index(), float(bucket.buffer().norm())))
        return averaged(bucket)

    lab.model.register_comm_hook(None, hook)
    return lab.train_step


def keeps(lab):
    return lab.parameter_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps, prepare)
