"""Training that depends on no more of the machine than that it is an x86-64 with AVX2."""

from __future__ import annotations

import os

import keras
import tensorflow as tf


def make_reproducible(seed: int) -> None:
    """Fixes what training depends on beside data and model; to be called before TensorFlow computes.

    Args:
      seed: seed of Python, NumPy and TensorFlow.
    Raises:
      RuntimeError: TensorFlow has computed something already.
    """
    # oneDNN adds up in another order for each generation of vector units, and reads this when it is
    # first used; so does a product that is divided among another number of threads.
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)
