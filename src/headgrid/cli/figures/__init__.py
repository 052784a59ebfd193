"""`headgrid figures`: the verb, the names of the figures, and what is drawn under each name."""

from headgrid.cli.figures.verb import Arguments, main

__all__ = ["Arguments", "main"]
