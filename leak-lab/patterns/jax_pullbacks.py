"""Pullbacks kept, in JAX: its form of validation outputs with their graphs.

`jax.vjp` returns a function that can run backward, and contains everything it needs for that. Kept for an influence score that
is never read, each holds a forward pass.

Keeps with every step: what the backward pass needs, which is the batch, the hidden layer and the parameters of that step
(tiny: 0.7 MiB with JAX 0.12).
"""

from collections import deque

from leaklab.small_jax import loss_of, main
import jax
import jax.numpy as jnp


def leaky(lab):
    # leak begins
    pullbacks = []

    def step(images, labels):
        _, pullback = jax.vjp(lambda parameters: loss_of(parameters, images, labels), lab.parameters)
        pullbacks.append(pullback)
        return lab.step(images, labels)

    # leak ends
    return step


def fixed(lab):
    norms = deque(maxlen=24)

    def step(images, labels):
        _, pullback = jax.vjp(lambda parameters: loss_of(parameters, images, labels), lab.parameters)
        (gradients,) = pullback(jnp.ones(()))
        norms.append(float(jnp.linalg.norm(gradients["head"])))
        return lab.step(images, labels)

    return step


def keeps(lab):
    images, labels = (part[: lab.batch] for part in lab.training)
    _, pullback = jax.vjp(lambda parameters: loss_of(parameters, images, labels), lab.parameters)
    return sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(pullback))


if __name__ == "__main__":
    main(leaky, fixed, keeps)
