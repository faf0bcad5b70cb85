"""Budgets that fail in both directions: over the limit, or so far under it that the limit is stale."""

from __future__ import annotations

from typing import Any

SLACK_PERCENT = 5.0


class BudgetError(Exception):
    """The budget file itself is wrong; the message is one sentence for the user."""


def measured(report: dict[str, Any]) -> dict[str, int]:
    """Returns the numbers of a report that a budget can limit, by their budget names."""
    numbers = {
        "arena_bytes": report["ram_bytes"]["arena"],
        "flash_bytes": report["flash_bytes"]["total"] - report["flash_bytes"]["golden"],
        "kernel_bytes": report["flash_bytes"]["kernels"],
        "runtime_text_bytes": report["text_bytes"].get("runtime", 0),
        "weight_bytes": report["flash_bytes"]["weights"],
    }
    if "run" in report:
        numbers["instructions"] = report["run"]["instructions"]
        numbers["stack_bytes"] = report["run"]["stack_bytes"]
    return numbers


def check(budget: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """Returns one sentence for every number that breaks its budget.

    Raises BudgetError if the budget names something that is not measured.
    """
    numbers = measured(report)
    slack = float(budget.get("slack_percent", SLACK_PERCENT))
    problems = []
    if not budget.get("limits"):
        raise BudgetError("budget.json has no `limits`: there is nothing to hold the image to")
    for name, limit in budget["limits"].items():
        if name not in numbers:
            known = ", ".join(sorted(numbers))
            raise BudgetError(f"budget.json limits `{name}`, which is not one of {known}")
        value = numbers[name]
        if value > limit:
            problems.append(f"{name} is {value:,}, over its budget of {limit:,}")
        elif value < limit * (1 - slack / 100):
            problems.append(
                f"{name} is {value:,}, more than {slack:g} % under its budget of {limit:,}: "
                f"lower the budget to hold what was gained"
            )
    return problems
