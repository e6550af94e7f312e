"""Activations kept between steps, in TensorFlow.

The step notes its hidden activations, to look at them later. An eager tensor lives on its device as long as something refers to it.

Keeps with every step: the hidden layer's output, batch x 256 width floats (tiny: 256 KiB, article: 8 MiB).
"""

from collections import deque

from leaklab.small_tf import main
import tensorflow as tf


def leaky(lab):
    # leak begins
    activations = []

    def step(images, labels):
        _, hidden = lab.network(images)
        activations.append(hidden)
        return lab.step(images, labels)

    # leak ends
    return step


def fixed(lab):
    means = deque(maxlen=24)

    def step(images, labels):
        _, hidden = lab.network(images)
        means.append(float(tf.reduce_mean(hidden)))
        return lab.step(images, labels)

    return step


def keeps(lab):
    return lab.hidden_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps)
