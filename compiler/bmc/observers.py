"""Collects facts from the IR while a model is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bmc.facts import liveness, macs, operands, products, stored_weights
from bmc.facts.operands import Kernel
from bmc.facts.products import ProductDispatch
from bmc.facts.stored_weights import WeightType
from bmc.plan import audit
from bmc.plan.weights import Weight
from bmc.rewrites.context import Context


class Facts:
    """Collects facts from the IR at each phase."""

    def __init__(
        self,
        context: Context,
        float_parts: Mapping[str, str],
        mixed: bool,
        unpacked: Callable[[dict[str, WeightType]], tuple[Weight, ...]],
    ) -> None:
        self.macs: dict[str, int] = {}
        self.stored: dict[str, WeightType] = {}
        self.liveness_bound = 0
        self.operands: dict[str, Kernel] = {}
        self.products: tuple[ProductDispatch, ...] = ()
        self._context = context
        self._float_parts = float_parts
        self._mixed = mixed
        self._unpacked = unpacked

    def of_parameters(self, module: Any) -> None:
        self.stored = stored_weights.read(
            module, self._context.permutations, self._context.widened, self._context.halved
        )
        self.macs = macs.count(module)

    def of_flow(self, module: Any) -> None:
        self.liveness_bound = liveness.bound(module, self._context.states)

    def of_configured(self, module: Any) -> None:
        self.operands = operands.read(module)
        self.products = products.read(module)
        if self._context.int8 and not self._mixed:
            audit.check_products(
                self.products, self._float_parts, lambda: self._unpacked(self.stored)
            )
        if self._context.f16:
            audit.check_halves(self.products, self._float_parts)
