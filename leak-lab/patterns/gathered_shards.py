"""Gathered parameters kept, where every rank owns a shard of them.

Each rank updates its own part of the parameters, and all parts are gathered before the next forward pass, as FSDP and ZeRO do.
The gathered vector is as large as the whole model. Keeping it, to compare it with the next step's, loses what sharding had
saved.

Keeps with every step, on every rank: all parameters (tiny: 0.7 MiB, article: 43 MiB).
"""

from collections import deque

from leaklab.ranks import main

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def prepare(lab):
    """All ranks begin with the parameters of the first; the optimizer has only the shard that this rank owns."""
    vector = parameters_to_vector(lab.model.parameters()).detach()
    dist.broadcast(vector, 0)
    lab.shard = torch.nn.Parameter(shard_of(vector).clone())
    lab.optimizer = torch.optim.SGD([lab.shard], lr=0.02, momentum=0.9)
    vector_to_parameters(vector, lab.model.parameters())


def shard_of(vector):
    """This rank's part of a vector, which is padded so that all parts are of one size."""
    world, rank = dist.get_world_size(), dist.get_rank()
    part = -(-len(vector) // world)
    return torch.nn.functional.pad(vector, (0, part * world - len(vector)))[rank * part : (rank + 1) * part]


def update_shard(lab, images, labels):
    """Forward, backward, and a step of the shard by its part of the gradients' mean; returns the loss."""
    for parameter in lab.model.parameters():
        parameter.grad = None
    loss = lab.criterion(lab.model(images), labels)
    loss.backward()
    gradients = parameters_to_vector(parameter.grad for parameter in lab.model.parameters())
    dist.all_reduce(gradients)
    lab.shard.grad = shard_of(gradients / dist.get_world_size()).clone()
    lab.optimizer.step()
    return loss.detach()


def gather(lab):
    """All shards as one vector, which becomes the storage of the model's parameters."""
    parts = [torch.empty_like(lab.shard) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, lab.shard.detach())
    return torch.cat(parts)[: sum(parameter.numel() for parameter in lab.model.parameters())].detach()


def leaky(lab):
    # leak begins
    gathered = []

    def step(images, labels):
        loss = update_shard(lab, images, labels)
        vector = gather(lab)
        gathered.append(vector)
        vector_to_parameters(vector, lab.model.parameters())
        return loss

    # leak ends
    return step


def fixed(lab):
    norms = deque(maxlen=24)

    def step(images, labels):
        loss = update_shard(lab, images, labels)
        vector = gather(lab)
        norms.append(float(vector.norm()))
        vector_to_parameters(vector, lab.model.parameters())
        return loss

    return step


def keeps(lab):
    return lab.parameter_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps, prepare)
