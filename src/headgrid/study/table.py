"""A study as a table in Markdown, for the pages of the documentation."""

from collections.abc import Sequence

from headgrid.study.outcome import Outcome

COLUMNS = ("family", "variant", "parameters", "epochs", "seeds", "test accuracy", "against the first row")


def cells(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """One row for each outcome; the last cell compares it with the first of its group."""
    first: dict[str, Outcome] = {}
    rows = []
    for outcome in outcomes:
        reference = first.setdefault(outcome.row.group, outcome)
        is_first = outcome is reference
        rows.append(
            (
                outcome.row.group if is_first else "",
                outcome.row.variant,
                "-" if outcome.num_parameters is None else f"{outcome.num_parameters:,}",
                str(outcome.row.experiment.training.num_epochs),
                str(len(outcome.results)),
                _accuracy(outcome),
                "" if is_first else _difference(outcome, reference),
            )
        )
    return rows


def markdown_table(outcomes: Sequence[Outcome]) -> str:
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *cells(outcomes)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _accuracy(outcome: Outcome) -> str:
    if outcome.mean is None:
        return "-"
    spread = "" if outcome.deviation is None else f" ± {outcome.deviation:.4f}"
    return f"{outcome.mean:.4f}{spread}"


def _difference(outcome: Outcome, reference: Outcome) -> str:
    if outcome.mean is None or reference.mean is None:
        return "-"
    return f"{100 * (outcome.mean - reference.mean):+.2f} points"
