"""Gradient accumulation with a misused scaler: the silent one.

Four batches should make one update. Instead the scaler steps and updates after every batch, and the scaled losses are kept, to
print their mean later. It stays unnoticed: training continues, and a kept number is smaller than the noise between runs. (Kept
without `detach`, each would hold the nodes of its graph, too: nothing on a device, but much on the host.)

Keeps with every step: one number, four bytes, and the Python object around it.
"""

from leaklab import devices
from leaklab.training import main

ACCUMULATE = 4


def accumulating(lab):
    """A scaler, and a learning rate for batches that are four times as large."""
    for group in lab.optimizer.param_groups:
        group["lr"] *= ACCUMULATE
    return devices.grad_scaler(lab.device)


def leaky(lab):
    scaler = accumulating(lab)
    scaled_losses = []

    # leak begins
    def step(images, labels):
        with devices.autocast(lab.device):
            loss = lab.criterion(lab.model(images), labels) / ACCUMULATE
        scaled = scaler.scale(loss)
        scaled.backward()
        scaled_losses.append(scaled.detach().clone())
        scaler.step(lab.optimizer)
        scaler.update()
        lab.optimizer.zero_grad(set_to_none=True)
        return loss.detach() * ACCUMULATE

    # leak ends
    return step


def fixed(lab):
    scaler = accumulating(lab)
    done = {"batches": 0, "loss": 0.0}

    def step(images, labels):
        with devices.autocast(lab.device):
            loss = lab.criterion(lab.model(images), labels) / ACCUMULATE
        scaler.scale(loss).backward()
        done["loss"] += loss.item()
        done["batches"] += 1
        if done["batches"] % ACCUMULATE == 0:
            scaler.step(lab.optimizer)
            scaler.update()
            lab.optimizer.zero_grad(set_to_none=True)
        return loss.detach() * ACCUMULATE

    return step


def keeps(lab):
    return 4


if __name__ == "__main__":
    main(leaky, fixed, keeps)
