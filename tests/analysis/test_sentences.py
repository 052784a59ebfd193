"""A layer in words: each clause says what the numbers say, and is missing where there is nothing to say."""

from dataclasses import replace

import pytest

from headgrid.analysis.measures import HeadMeasures, KernelCover, KernelShape
from headgrid.analysis.sentences import percent, sentence
from headgrid.geometry import kernel_shifts

ZERO = ((0.0, 0.0), (0.0, 0.0))
HEAD = HeadMeasures(
    "layer", 0, 2, (0, 0), 0.5, (0.0, 0.0), ZERO, None, None, 1.0, 1.0, 2.0, 4.0, 0.5, 0.0, 1.0, 0.0
)


def heads_of(*changes):
    return [replace(HEAD, head=index, **change) for index, change in enumerate(changes)]


def cover_of(size, mass):
    shifts = tuple((row, column) for row, column in kernel_shifts((size, size)).tolist())
    return KernelCover(size, tuple(range(size * size)), shifts, (mass,) * size**2)


def say(heads, size=1, mass=0.5, covered=0, convolution=None, redundant=()):
    return sentence(heads, cover_of(size, mass), covered, convolution, redundant, 0.1)


def test_one_head():
    assert say(heads_of({})) == (
        "Its head puts 50 % of its attention on the query itself; it looks 2.0 pixels of the map far; it does not "
        "look at the image."
    )
    assert say(heads_of({"content_variance": 0.25})).endswith(
        "; it looks at the image: 25 % of its map is content."
    )


def test_of_a_few_heads_the_best_is_named():
    text = say(heads_of({"mean_distance": 1.0}, {"mean_distance": 3.0}))
    assert text.startswith("Head 0 puts 50 % of its attention on the query itself; they look 2.0 pixels of the map")
    assert "from 1.0 (head 0) to 3.0 (head 1)" in text


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (KernelShape((2, 2), (1, 1), (0, 0)), "a 2 x 2 convolution:"),
        (KernelShape((5, 3), (1, 1), (0, 0)), "a 5 x 3 convolution:"),
        (KernelShape((3, 3), (2, 2), (0, 0)), "a 3 x 3 convolution with dilation 2:"),
        (KernelShape((3, 3), (3, 1), (0, 0)), "a 3 x 3 convolution with dilation 3 x 1:"),
        (KernelShape((2, 2), (1, 1), (1, -2)), "a 2 x 2 convolution around the shift +1 -2:"),
    ],
)
def test_a_convolution(shape, words):
    text = say(heads_of(*[{"peak_mass": 1.0}] * 4), 2, 1.0, 2, shape)
    assert text.startswith(f"Like {words} every shift has a head of its own, with all of its attention; ")
    less = say(heads_of({"peak_mass": 1.0}, {"peak_mass": 0.923}), 1, 1.0, 1, shape)
    assert f"{words} every shift has a head of its own, with at least 92.3 % of its attention;" in less


def test_a_cover():
    heads = heads_of(*[{}] * 9)
    assert say(heads, 3, 0.95, 3).startswith("Its heads cover a 3 x 3 kernel within 10 %; ")
    assert say(heads, 3, 0.6, 2).startswith("Its heads cover a 2 x 2 kernel within 10 %, but no larger one; ")
    assert say(heads, 3, 0.123, 0).startswith(
        "No 3 x 3 convolution: assigned to its shifts as well as possible, heads put 12.3 % of their attention"
    )


def test_content():
    assert "; no head looks at the image." in say(heads_of({}, {}))
    assert "image" not in say(heads_of({"content_variance": None}, {"content_variance": None}))
    some = say(heads_of({"content_variance": 0.5}, {}, {"content_variance": 0.75}))
    assert some.endswith("; 2 of 3 heads look at the image, head 2 most: 75 % of its map is content.")
    assert "; all heads look at the image, head 0 most" in say(heads_of(*[{"content_variance": 0.5}] * 2))


def test_tokens_signs_and_repetitions():
    text = say(
        heads_of({"token_share": 0.1}, {"token_share": 0.3, "negative_share": 0.5}), redundant=((0, 1), (2, 3, 4))
    )
    assert "; pixels give 20 % of their attention to class tokens and registers; " in text
    assert "; 25 % of the weights are negative, and absolute values were measured; " in text
    assert text.endswith("; heads 0 and 1; heads 2, 3 and 4 look at the same.")


def test_percent():
    assert [percent(share) for share in (1.0, 0.5, 0.1234, 0.00056)] == ["100 %", "50 %", "12.3 %", "0.056 %"]
