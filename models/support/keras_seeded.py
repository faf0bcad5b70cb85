"""Makes a Keras model with random weights behave numerically like a trained one.

Otherwise such a network computes almost the same output for every input, because activations vanish or
grow from layer to layer and their means hide the differences. A kernel with one wrong element would go
unnoticed, and int8 would spend its steps on the wrong range.
"""

from __future__ import annotations

import keras
import numpy as np
import numpy.typing as npt

# A standard deviation of the logits at which softmax is neither flat nor one-hot.
LOGIT_DEVIATION = 1.0


def settle(model: keras.Model, examples: npt.NDArray[np.float32]) -> None:
    """Sets the statistics of every batch normalization, in place, to those of `examples`.

    Args:
      model: the model, with batch normalizations as Keras makes them.
      examples: one batch of inputs.
    """
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    model(examples, training=True)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


def settle_logits(
    model: keras.Model, layer: keras.layers.Layer, examples: npt.NDArray[np.float32]
) -> None:
    """Scales and shifts a classifier's last layer, in place, so that logits differ between `examples`.

    Args:
      model: the model, after settle().
      layer: the layer that computes the logits, with a kernel and a bias and without activation.
      examples: one batch of inputs.
    """
    logits = keras.Model(model.inputs, layer.output)([examples], training=False).numpy()
    classes = logits.shape[-1]
    spread = logits.reshape(-1, classes) - logits.reshape(-1, classes).mean(axis=0)
    scale = LOGIT_DEVIATION / spread.std()
    kernel, bias = layer.get_weights()
    mean = logits.reshape(-1, classes).mean(axis=0) - bias
    layer.set_weights([kernel * scale, -mean * scale])
