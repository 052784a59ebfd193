"""Whole tables of runs: a question, the runs that answer it, and what came out."""

from headgrid.study.hierarchical_attention import HIERARCHICAL_STUDY
from headgrid.study.outcome import Outcome, outcomes
from headgrid.study.study import Study, StudyRow
from headgrid.study.table import markdown_table

STUDIES: dict[str, Study] = {study.name: study for study in (HIERARCHICAL_STUDY,)}
"""Everything that `headgrid study` knows by name."""

__all__ = ["STUDIES", "Outcome", "Study", "StudyRow", "markdown_table", "outcomes"]
