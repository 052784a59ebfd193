"""Pages to look at in a browser: arrays in, one HTML file out that needs nothing else."""

from headgrid.explorer.report_page import Example, ReportContents, report_page

__all__ = ["Example", "ReportContents", "report_page"]
