"""model.fit on random data."""

import argparse

import tensorflow as tf


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    options = parser.parse_args()

    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((32, 32, 3)),
            tf.keras.layers.Conv2D(16, 3, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images = tf.random.normal((1024, 32, 32, 3), seed=0)
    labels = tf.random.uniform((1024,), maxval=10, dtype=tf.int32, seed=0)
    model.fit(images, labels, batch_size=32, epochs=options.epochs, verbose=2)


if __name__ == "__main__":
    main()
