"""The problems for which bmc writes kernels."""

from __future__ import annotations

from bmc.kernels.problem.elementwise import Elementwise
from bmc.kernels.problem.product import Product
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.problem.scatter import Scatter

Problem = Product | Reduction | Elementwise | Scatter
