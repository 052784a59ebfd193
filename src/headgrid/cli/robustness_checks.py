"""`headgrid robustness`: from words to checks, from outcomes to tables and files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from headgrid.cli.output import print_table
from headgrid.evaluation.adversarial import (
    PGD,
    ImageStart,
    LeastLikelyTarget,
    RandomStart,
    RandomTarget,
    Untargeted,
)
from headgrid.evaluation.robustness import Check, Outcome, Robustness
from headgrid.evaluation.rotation import ROTATIONS

CheckName = Literal["rotations", "pgd", "targeted-pgd"]
TargetName = Literal["random", "least-likely"]
StartName = Literal["random", "image"]

TARGETS = {"random": RandomTarget(), "least-likely": LeastLikelyTarget()}
STARTS = {"random": RandomStart(), "image": ImageStart()}
UNCHANGED = "unchanged"

CSV_COLUMNS = (
    "model", "data", "split", "num_images", "check",
    "accuracy", "drop", "top5_accuracy", "top5_drop", "loss", "success_rate",
    "epsilon", "step_size", "iterations", "start", "target", "seed",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What `headgrid robustness` found about one model."""

    model: str
    data: str
    split: str
    robustness: Robustness


def make_checks(names: Sequence[CheckName], attack: PGD, target: TargetName) -> tuple[Check, ...]:
    """The checks of these names, in the order of the table; attacks are ``attack`` with the goal of their name."""
    rotations = ROTATIONS if "rotations" in names else ()
    goals = {"pgd": Untargeted(), "targeted-pgd": TARGETS[target]}
    return (*rotations, *(replace(attack, goal=goal) for name, goal in goals.items() if name in names))


def fraction(text: str, option: str) -> float:
    """8/255 is how changes of pixels are written, and 0.03 is fine too."""
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{option} should be a number such as 8/255 or 0.03, not {text!r}") from None


def print_tables(measured: Sequence[Measured]) -> None:
    """As in the SAN paper: a row for each model, per cent, the drop in brackets."""
    checks = dict(enumerate(outcome.check for outcome in measured[0].robustness.outcomes))
    turned = [number for number, check in checks.items() if not isinstance(check, PGD)]
    attacks = {number: check for number, check in checks.items() if isinstance(check, PGD)}
    for line in dict.fromkeys(_described(one) for one in measured):
        print(line)
    if turned:
        columns = ("no rotation", *(checks[number].name for number in turned))
        print("\ntop-1 accuracy, %")
        print_table(("model", *columns), [_top1_row(one, turned) for one in measured])
        if any(one.robustness.unchanged.top5_accuracy is not None for one in measured):
            print("\ntop-5 accuracy, %")
            print_table(("model", *columns), [_top5_row(one, turned) for one in measured])
    if attacks:
        names = [check.name for check in attacks.values()]
        print(f"\ntop-1 accuracy under attack, %\n{_described_attacks(list(attacks.values()))}")
        print_table(
            ("model", "no attack", *names, *(f"success of {name}" for name in names)),
            [
                (
                    *_top1_row(one, list(attacks)),
                    *(_percent(one.robustness.outcomes[number].success_rate) for number in attacks),
                )
                for one in measured
            ],
            "Success: of the images it was right about, those now wrong; of targeted PGD, taken for the target.",
        )


def to_json(measured: Measured) -> dict[str, Any]:
    unchanged = measured.robustness.unchanged
    return {
        "model": measured.model,
        "data": measured.data,
        "split": measured.split,
        "num_images": unchanged.num_images,
        "accuracy": unchanged.accuracy,
        "top5_accuracy": unchanged.top5_accuracy,
        "loss": unchanged.loss,
        "checks": [_outcome_to_json(outcome) for outcome in measured.robustness.outcomes],
    }


def to_csv(measured: Sequence[Measured]) -> list[list[Any]]:
    """One row for each model and check, the unchanged images first."""
    rows: list[list[Any]] = [list(CSV_COLUMNS)]
    for one in measured:
        description = to_json(one)
        without_top5 = one.robustness.unchanged.top5_accuracy is None
        entries = [description | {"check": UNCHANGED, "drop": 0.0, "top5_drop": None if without_top5 else 0.0}]
        entries += [description | entry for entry in description["checks"]]
        rows += [
            ["" if entry.get(column) is None else entry[column] for column in CSV_COLUMNS] for entry in entries
        ]
    return rows


def _outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    result: dict[str, Any] = {
        "check": check.name,
        "accuracy": outcome.evaluation.accuracy,
        "drop": outcome.drop,
        "top5_accuracy": outcome.evaluation.top5_accuracy,
        "top5_drop": outcome.top5_drop,
        "loss": outcome.evaluation.loss,
    }
    if isinstance(check, PGD):
        result["success_rate"] = outcome.success_rate
        result["epsilon"], result["step_size"] = check.epsilon, check.step_size
        result["iterations"], result["seed"] = check.num_steps, check.seed
        result["start"] = _name_of(check.start, STARTS)
        result["target"] = None if isinstance(check.goal, Untargeted) else _name_of(check.goal, TARGETS)
    return result


def _name_of(value: Any, names: dict[str, Any]) -> str:
    return next(name for name, known in names.items() if known == value)


def _described(one: Measured) -> str:
    return f"{one.robustness.unchanged.num_images} {one.split} images of {one.data}"


def _described_attacks(attacks: Sequence[PGD]) -> str:
    """They differ in nothing but their goals."""
    one = attacks[0]
    numbers = (
        f"L-infinity, epsilon {255 * one.epsilon:g}/255, {one.num_steps} steps of {255 * one.step_size:g}/255, "
        f"start: {_name_of(one.start, STARTS)}"
    )
    targets = [_name_of(attack.goal, TARGETS) for attack in attacks if not isinstance(attack.goal, Untargeted)]
    return ", target: ".join((numbers, *targets))


def _top1_row(one: Measured, numbers: Sequence[int]) -> tuple[str, ...]:
    outcomes = [one.robustness.outcomes[number] for number in numbers]
    cells = (_with_drop(outcome.evaluation.accuracy, outcome.drop) for outcome in outcomes)
    return (one.model, _percent(one.robustness.unchanged.accuracy), *cells)


def _top5_row(one: Measured, numbers: Sequence[int]) -> tuple[str, ...]:
    outcomes = [one.robustness.outcomes[number] for number in numbers]
    cells = (_with_drop(outcome.evaluation.top5_accuracy, outcome.top5_drop) for outcome in outcomes)
    return (one.model, _percent(one.robustness.unchanged.top5_accuracy), *cells)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _with_drop(share: float | None, drop: float | None) -> str:
    return "-" if share is None or drop is None else f"{100 * share:.1f} ({100 * drop:.1f})"
