"""Diagrams of how a model's attention layers are put together."""

from collections.abc import Iterator

from headgrid.cli.figures.drawing import Drawing
from headgrid.cli.figures.subject import LeftOut, Subject
from headgrid.figures.stack_diagram import stack_diagram
from headgrid.stacks import Hierarchical


def draw_normal_attention_diagram(subject: Subject) -> Iterator[Drawing]:
    if isinstance(subject.stack, Hierarchical):
        raise LeftOut("its attention is hierarchical")
    yield Drawing("normal-attention-diagram", stack_diagram(subject.stack))


def draw_hierarchical_attention_diagram(subject: Subject) -> Iterator[Drawing]:
    if not isinstance(subject.stack, Hierarchical):
        raise LeftOut("its attention is not hierarchical")
    yield Drawing("hierarchical-attention-diagram", stack_diagram(subject.stack))
