"""The measures as plain rows, for CSV: a row per head, and a row per layer."""

from dataclasses import fields

from headgrid.analysis.measures import AttentionMeasures, HeadMeasures, LayerMeasures

Cell = str | int | float | None
TableRow = dict[str, Cell]

AXES = ("row", "column")


def head_rows(measures: AttentionMeasures) -> list[TableRow]:
    """Pairs come apart: ``mean_shift_row``, ``mean_shift_column``; matrices too: ``covariance_row_column``."""
    return [_head_row(head) for head in measures.heads]


def layer_rows(measures: AttentionMeasures) -> list[TableRow]:
    return [_layer_row(layer) for layer in measures.layers]


def _head_row(head: HeadMeasures) -> TableRow:
    row: TableRow = {}
    for name in (field.name for field in fields(head)):
        value = getattr(head, name)
        if name in ("peak_shift", "mean_shift", "exact_center"):
            row |= {f"{name}_{axis}": None if value is None else value[i] for i, axis in enumerate(AXES)}
        elif name in ("covariance", "exact_inverse_covariance"):
            for i, first in enumerate(AXES):
                row |= {
                    f"{name}_{first}_{axis}": None if value is None else value[i][j] for j, axis in enumerate(AXES)
                }
        else:
            row[name] = value
    return row


def _layer_row(layer: LayerMeasures) -> TableRow:
    return {
        "layer": layer.layer,
        "grid_rows": layer.grid[0],
        "grid_columns": layer.grid[1],
        "num_heads": len(layer.heads),
        "kernel_size": layer.cover.kernel_size,
        "mean_mass_on_kernel": layer.cover.mean_mass,
        "covered_kernel_size": layer.covered_kernel_size,
        "convolution": None if layer.convolution is None else "{} x {}".format(*layer.convolution.size),
        "redundant": " ".join("+".join(map(str, group)) for group in layer.redundant),
        "sentence": layer.sentence,
    }
