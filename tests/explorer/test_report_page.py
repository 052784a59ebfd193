import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from headgrid.analysis import HeadCenters
from headgrid.explorer import Example, ReportContents, centers_picture, pixels_to_show, report_page
from headgrid.explorer.pictures import accuracy_svg, head_centers_svg, map_png, png_address

METRICS = [
    {"epoch": 1, "training_accuracy": 0.2, "validation_accuracy": 0.3},
    {"epoch": 2, "training_accuracy": 0.5, "validation_accuracy": None},
    {"epoch": 3, "training_accuracy": 0.6, "validation_accuracy": 0.55},
]


def _heads(num_heads=3):
    precision = torch.eye(2).expand(num_heads, 2, 2)
    return HeadCenters(torch.tensor([[0.0, 1.5], [-2.0, 0.0], [3.0, 3.0]])[:num_heads], precision)


def _contents(**changes):
    example = Example(
        image=np.zeros((8, 12, 3), dtype=np.uint8),
        label="cats & dogs",
        prediction="<stripes>",
        query=(1, 4),
        maps={"stack.blocks.0.attention": np.full((3, 4, 6), 1 / 24, dtype=np.float32)},
    )
    values = {
        "title": "quadratic <tiny>",
        "facts": [("Test accuracy", "50 % & more")],
        "metrics": METRICS,
        "chance": 0.1,
        "centers": {0: {"layer": _heads()}, 3: {"layer": _heads()}},
        "examples": [example],
    }
    return ReportContents(**{**values, **changes})


def test_page_is_complete_and_escapes_what_it_is_given():
    page = report_page(_contents())
    assert "{{" not in page
    assert "quadratic &lt;tiny&gt;" in page
    assert "50 % &amp; more" in page
    assert "&lt;stripes&gt;" in page
    assert "cats &amp; dogs" in page
    assert "Where the heads look" in page
    # One panel before, one after, one for each epoch of the slider.
    assert page.count('<svg class="centers"') == 4


def test_page_loads_nothing_from_anywhere():
    addresses = re.findall(r'(?:src|href)="([^"]*)"', report_page(_contents()))
    assert addresses
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "http" not in report_page(_contents())


def test_page_of_a_network_without_attention_has_accuracy_only():
    page = report_page(_contents(centers={}, examples=[]))
    assert "<h2>Accuracy</h2>" in page
    assert "Where the heads look" not in page
    assert "Attention on a test image" not in page


@pytest.mark.parametrize(
    "picture",
    [
        accuracy_svg([1, 2, 3], {"training": [0.2, 0.5, 0.6], "validation": [0.3, None, 0.55]}, 0.1),
        accuracy_svg([], {"training": []}, 0.1),
        accuracy_svg([1], {"training": [0.5]}, 0.1),
        head_centers_svg(_heads(), reach=5),
    ],
)
def test_pictures_are_well_formed(picture):
    ElementTree.fromstring(picture)


def test_centers_stand_at_their_column_and_row():
    picture = ElementTree.fromstring(head_centers_svg(_heads(), reach=5))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in picture.iter("circle")]
    assert dots == [(1.5, 0.0), (0.0, -2.0), (3.0, 3.0)]  # x is the column, y the row


def test_picture_of_centers_stands_alone():
    rows = {"before training": {"a": _heads(), "b": _heads()}, "after 3 epochs": {"a": _heads(), "b": _heads(2)}}
    picture = ElementTree.fromstring(centers_picture(rows, reach=5))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))) == 11


def test_pixels_to_show_hold_the_centers_within_reason():
    def at(distance):
        return {0: {"layer": HeadCenters(torch.tensor([[0.0, distance]]), torch.eye(2)[None])}}

    assert [pixels_to_show(at(distance)) for distance in (0.1, 4.2, -6.0, 99.0)] == [3, 7, 8, 12]


def test_missing_validation_accuracies_leave_no_point():
    picture = ElementTree.fromstring(accuracy_svg([1, 2, 3], {"validation": [0.3, None, 0.55]}, 0.1))
    assert len(list(picture.iter("circle"))) == 2


def test_maps_go_from_white_to_dark():
    import base64
    import io

    from PIL import Image

    weights = np.array([[0.0, 0.25], [0.5, 1.0]], dtype=np.float32)
    address = map_png(weights)
    with Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))) as image:
        brightness = np.asarray(image.convert("L")).astype(int)
    assert brightness[0, 0] == 255
    assert brightness[0, 0] > brightness[0, 1] > brightness[1, 0] > brightness[1, 1]
    assert png_address(np.zeros((2, 3, 3), dtype=np.uint8)).startswith("data:image/png")
