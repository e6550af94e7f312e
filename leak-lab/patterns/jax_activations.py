"""Activations kept between steps, in JAX.

The function returns its hidden activations beside the logits, to look at them later. An array of JAX has no graph to detach; the
list alone keeps it on the device.

Keeps with every step: the hidden layer's output, batch x 256 width floats (tiny: 256 KiB, article: 8 MiB).
"""

from collections import deque

from leaklab.small_jax import main, network


def leaky(lab):
    # leak begins
    activations = []

    def step(images, labels):
        _, hidden = network(lab.parameters, images)
        activations.append(hidden)
        return lab.step(images, labels)

    # leak ends
    return step


def fixed(lab):
    means = deque(maxlen=24)

    def step(images, labels):
        _, hidden = network(lab.parameters, images)
        means.append(float(hidden.mean()))
        return lab.step(images, labels)

    return step


def keeps(lab):
    return lab.hidden_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps)
