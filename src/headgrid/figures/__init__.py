"""Arrays in, a matplotlib `Figure` out; one file per figure. Nothing here computes what it shows."""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("figures need matplotlib: pip install 'headgrid[figures]'") from error
