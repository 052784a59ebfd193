"""Where pixels are: grids, shifts between pixels, and the shifts of a convolution kernel."""

from headgrid.geometry.grid import axis_shifts, pixel_grid, relative_shift
from headgrid.geometry.kernel import kernel_shifts
from headgrid.geometry.token_layout import TokenLayout

__all__ = ["TokenLayout", "axis_shifts", "kernel_shifts", "pixel_grid", "relative_shift"]
