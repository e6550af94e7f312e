"""A jitted training step on random data; parameters are donated, so that a step needs no second copy of them."""

import argparse
from functools import partial

import jax
import jax.numpy as jnp


def predict(parameters: list, inputs: jax.Array) -> jax.Array:
    for weights, bias in parameters[:-1]:
        inputs = jax.nn.relu(inputs @ weights + bias)
    weights, bias = parameters[-1]
    return inputs @ weights + bias


def loss(parameters: list, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    return jnp.mean((predict(parameters, inputs) - targets) ** 2)


@partial(jax.jit, donate_argnums=0)
def update(parameters: list, inputs: jax.Array, targets: jax.Array) -> tuple:
    value, gradients = jax.value_and_grad(loss)(parameters, inputs, targets)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, parameters, gradients), value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()

    key = jax.random.PRNGKey(0)
    sizes = [256, 512, 512, 16]
    parameters = []
    for rows, columns in zip(sizes, sizes[1:]):
        key, own = jax.random.split(key)
        parameters.append((jax.random.normal(own, (rows, columns)) * 0.05, jnp.zeros(columns)))
    for step in range(options.steps):
        key, first, second = jax.random.split(key, 3)
        parameters, value = update(parameters, jax.random.normal(first, (64, 256)), jax.random.normal(second, (64, 16)))
        if step % 50 == 0:
            print(f"step {step} loss {float(value):.4f}", flush=True)


if __name__ == "__main__":
    main()
