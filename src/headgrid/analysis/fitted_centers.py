"""Gaussians fitted to heads of any kind: the mean shift and the covariance in the place of centre and Sigma."""

import torch

from headgrid.analysis.centers import HeadCenters
from headgrid.analysis.measures import AttentionMeasures

LEAST_VARIANCE = 0.02
"""Square pixels. A head that looks at a single shift has no variance; its curve stays as large as can be seen."""


def fitted_centers(measures: AttentionMeasures) -> dict[str, HeadCenters]:
    """For each layer, the Gaussians with the moments of its heads' attention, to be drawn as centres are."""
    layers = {}
    for layer in measures.layers:
        means = torch.tensor([head.mean_shift for head in layer.heads], dtype=torch.float64)
        covariances = torch.tensor([head.covariance for head in layer.heads], dtype=torch.float64)
        variances, directions = torch.linalg.eigh(covariances)
        precisions = directions @ torch.diag_embed(1 / variances.clamp_min(LEAST_VARIANCE)) @ directions.mT
        layers[layer.layer] = HeadCenters(means, precisions)
    return layers
