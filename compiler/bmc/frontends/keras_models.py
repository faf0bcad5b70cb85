"""Small models for keras_test.py, some of them impossible. It finds lines by their comments."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from bmc import spec

_RNG = np.random.default_rng(0)
_X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
_CLOSE = spec.Tolerance(1e-5, 1e-5)


def _spec(model, *case, **options):
    options = {"tolerance": _CLOSE, **options}
    return spec.ModelSpec(model, (case or (_X,),), **options)


def _random(*shape):
    return _RNG.standard_normal(shape).astype(np.float32)


class Function(tf.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = tf.Variable(tf.ones((4, 2)), name="weight")

    def __call__(self, *tensors):
        return self.function(self, *tensors)


def two_inputs():
    keras.utils.set_random_seed(0)
    left, right = keras.Input((4,), name="right"), keras.Input((4,), name="left", dtype="int32")
    scores = layers.Dense(3, name="scores")(left)
    model = keras.Model([left, right], [scores, layers.Identity(name="copy")(right)])
    return _spec(model, _X, (8 * _X).astype(np.int32), tolerance=(_CLOSE, spec.Exact()))


def dictionary():
    model = two_inputs().module
    model = keras.Model(dict(right=model.inputs[0], left=model.inputs[1]), model.outputs)
    return _spec(model, (8 * _X).astype(np.int32), _X, tolerance=(_CLOSE, spec.Exact()))


class Subclass(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x, y):
        return {"sum": x + y, "dense": self.dense(x)}


def subclass():
    return _spec(Subclass(), _X, _X)


def _tripled(call):
    @functools.wraps(call)
    def tripled(self, *tensors):
        return 3 * call(self, *tensors)

    return tripled


class Called(keras.Model):
    """A functional model with more around what it computes: x becomes 30 * x."""

    def __call__(self, x, **options):
        return 5 * super().__call__(x, **options)

    @_tripled
    def call(self, x):
        return super().call(x)


def called():
    inputs = keras.Input((4,))
    return _spec(Called(inputs, layers.Rescaling(2.0)(inputs)))


def called_module():
    class Tripled(Function):
        __call__ = tf.function(_tripled(Function.__call__))

    return _spec(Tripled(lambda self, x: 10 * x))


class Otherwise(keras.Model):
    def call(self, x):
        return x if tf.executing_eagerly() else x + 1


def otherwise():
    return _spec(Otherwise(), calibration=((_X,),))


class Counter(keras.Model):
    def __init__(self):
        super().__init__()
        self.count = self.add_weight(shape=(), name="count", trainable=False)

    def call(self, x):
        self.count.assign_add(1.0)
        return x + self.count


def stateful():
    return _spec(Counter())


class Branch(keras.Model):
    def call(self, x):
        if tf.reduce_sum(x) > 0:  # branch
            return x
        return x + 1


def branch():
    return _spec(Branch())


class Failing(keras.Model):
    def call(self, x):
        return x @ tf.zeros((5, 5))  # mismatch


def failing():
    return _spec(Failing())


def module():
    return _spec(Function(lambda self, x: x @ self.weight))


def strings():
    return _spec(
        Function(lambda self, x: tf.strings.length(tf.strings.as_string(x))), tolerance=spec.Exact()
    )


def nothing():
    return _spec(Function(lambda self, x: None))


def number():
    return _spec(Function(lambda self, x: (x, 3.0)))


def ragged_tensor():
    return _spec(Function(lambda self, x: tf.RaggedTensor.from_tensor(x)))


def no_layers():
    return _spec(keras.Sequential())


def sized_by_values():
    return _spec(Function(lambda self, x: tf.boolean_mask(x, x > 0)))


def random():
    return _spec(Function(lambda self, x: x + tf.random.normal((2, 4))))


def scalar():
    return _spec(Function(lambda self, x: x + 1), np.float32(3).reshape(()))


def empty():
    def forward(self, x, none):
        return tf.concat([x, none], 0), tf.sort(none), tf.reduce_prod(none, 0), x[:, :0] * 2

    return _spec(Function(forward), _X, np.zeros((0, 4), np.float32))


def nan():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2, name="scores")], name="net")
    model.layers[0].set_weights([np.full((4, 2), np.nan), np.zeros(2)])
    return _spec(model)


def wrong_dtype():
    return _spec(two_inputs().module, _X.astype(np.float64), _X.astype(np.int32))


def too_few():
    return _spec(two_inputs().module, _X)


def recurrent():
    keras.utils.set_random_seed(0)
    gru = layers.Bidirectional(layers.GRU(3, return_sequences=True))
    model = keras.Sequential([keras.Input((5, 4)), gru, layers.LSTM(3), layers.Dense(2)])
    cases = tuple((_random(1, 5, 4),) for _ in range(20))
    return spec.ModelSpec(model, cases[:2], _CLOSE, calibration=cases)


def masked():
    keras.utils.set_random_seed(0)
    both = layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True))
    model = keras.Sequential([keras.Input((5, 3)), layers.Masking(0.0), both])
    x = _random(2, 5, 3)
    x[0, 3:] = 0
    return spec.ModelSpec(model, ((x,),), _CLOSE)


def _vision():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 3), name="image")
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.BatchNormalization()(layers.DepthwiseConv2D(3)(x))
    x = layers.GlobalAveragePooling2D()(x)
    # In this order and with the same shape, so that mixed-up outputs show.
    outputs = [layers.Dense(4, name=name)(x) for name in ("zebra", "ape", "mouse")]
    return keras.Model(inputs, outputs)


def vision(calibration=(1, 8, 8, 3)):
    cases = tuple((_random(1, 8, 8, 3),) for _ in range(3))
    data = tuple((_random(*calibration),) for _ in range(50))
    labels = np.array([0, 1, 2])
    return spec.ModelSpec(_vision(), cases, _CLOSE, labels, calibration=data)


def badly_calibrated():
    return vision((1, 8, 9, 3))


def not_calibrated():
    return _spec(_vision(), _random(1, 8, 8, 3))


def loop():
    def function(self, x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))[1]

    return _spec(Function(function), calibration=((_X,),))


def rows():
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    return _spec(Function(lambda self, i: tf.gather(table, i)), np.array([1, 2], np.int32))


def doubles():
    inputs = keras.Input((4,))
    wide = layers.Activation("exponential", dtype="float64", name="wide")(inputs)
    return _spec(keras.Model(inputs, layers.Rescaling(2.0, dtype="float32")(wide)))


def pair():
    x = _random(2, 2, 4, 4, 1)
    return spec.Cases(((x[0],),), _CLOSE)
