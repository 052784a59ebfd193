"""From a model, or what it recorded, to arrays."""

from headgrid.analysis.centers import HeadCenters, centers_of_row, contour, describe_centers, head_centers

__all__ = ["HeadCenters", "centers_of_row", "contour", "describe_centers", "head_centers"]
