"""Pages to look at in a browser: arrays in, one HTML file out that needs nothing else."""

from headgrid.explorer.centers_picture import centers_picture
from headgrid.explorer.report_page import Example, ReportContents, pixels_to_show, report_page

__all__ = ["Example", "ReportContents", "centers_picture", "pixels_to_show", "report_page"]
