"""Imports determinants; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest

import support

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_RANDOM = np.random.default_rng(1).standard_normal((4, 4))
_SWAPPED = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
_SMALL = [[1e-6, 1, 0], [1, 1, 0], [0, 0, 1]]
_ODD = np.array([_SWAPPED, _SMALL, np.ones((3, 3)), _RANDOM[:3, :3]], np.float32)
# The determinants of some overflow, or become zero, and their logarithms do not.
_ANY = np.array([_RANDOM, _RANDOM * 1e12, np.eye(4)[::-1] * 1e-15, np.zeros((4, 4))], np.float32)


def _near(function, *inputs):
    return spec.ModelSpec(Model(function), (inputs,), spec.Tolerance(1e-4, 1e-4))


def determinants():
    det = torch.linalg.det
    return _near(lambda x, y: (det(x), det(x[0]), det(x[:, :2, :2]), x[:, :1, :1].det(), det(y)), _ODD, _ANY[:1])


def signs():
    return _near(torch.linalg.slogdet, _ANY)


def logarithms():
    # Of these matrices and their negatives, determinants are above zero, below it, and zero.
    return _near(lambda x: (torch.logdet(x[1:]), torch.logdet(-x[1:])), _ODD)


def inverses():
    none = lambda x: x[..., :0, :0]
    return _near(
        lambda x: (
            *(torch.linalg.tensorinv(x[0].reshape(2, 2, 4)), torch.linalg.inv_ex(x[0])[0]),
            *(torch.linalg.cholesky_ex(none(x))[0], torch.linalg.inv_ex(none(x))[0]),
            1 + torch.linalg.inv_ex(none(x))[1].float() + torch.logdet(none(x)),
        ),
        _ANY,
    )


def many():
    return _near(lambda x: torch.linalg.det(x), np.eye(33, dtype=np.float32))

"""
)


class TorchDeterminantsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("determinants", "signs", "logarithms", "inverses"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory).second_reference)

    def test_too_many_rows(self) -> None:
        self.refuses("op-rejected", "of 33 rows", call=lambda: self.load("many"))


if __name__ == "__main__":
    unittest.main()
