"""Gradient tapes kept, in TensorFlow: its form of validation outputs with their graphs.

A persistent tape records a second forward pass, for gradients of single examples that are never read. As long as the tape lives,
so does all it has recorded, the parameters of that step among it: an update then has to write to a copy.

Keeps with every step: the hidden layer before and after its rectifier, and the parameters (tiny: 2.1 MiB, article: 29 MiB).
"""

from collections import deque

from leaklab.small_tf import main
import tensorflow as tf


def leaky(lab):
    # leak begins
    tapes = []

    def step(images, labels):
        with tf.GradientTape(persistent=True) as tape:
            loss = lab.loss(images, labels)
        tapes.append((tape, loss))
        return lab.step(images, labels)

    # leak ends
    return step


def fixed(lab):
    norms = deque(maxlen=24)

    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = lab.loss(images, labels)
        norms.append(float(tf.norm(tape.gradient(loss, lab.head))))
        return lab.step(images, labels)

    return step


def keeps(lab):
    return 2 * lab.hidden_bytes + lab.parameter_bytes


if __name__ == "__main__":
    main(leaky, fixed, keeps)
