"""Activations kept by a forward hook.

A hook on a layer stores its outputs, to look at them later. They are detached, which frees the graph and nothing else: each
stays on the device, in a list that lives as long as the run.

Keeps with every step: the output of the last stage, batch x 8 width x 4 x 4 floats (tiny: 128 KiB, article: 4 MiB).
"""

from collections import deque

from leaklab.resnet import map_bytes
from leaklab.training import main


def leaky(lab):
    # leak begins
    activations = []

    def keep(module, inputs, output):
        if module.training:
            activations.append(output.detach().clone())

    # leak ends
    lab.model.layer4.register_forward_hook(keep)
    return lab.train_step


def fixed(lab):
    # The newest only, and on the host. A finished debugging session also calls remove() on the hook's handle.
    activations = deque(maxlen=1)

    def keep(module, inputs, output):
        if module.training:
            activations.append(output.detach().cpu())

    lab.model.layer4.register_forward_hook(keep)
    return lab.train_step


def keeps(lab):
    return map_bytes(lab.width, lab.batch, stage=4)


if __name__ == "__main__":
    main(leaky, fixed, keeps)
