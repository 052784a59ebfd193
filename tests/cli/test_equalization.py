"""Histogram equalisation is chosen on the command line like every other part."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from headgrid.cli.data_argument import choose_data
from headgrid.data import ChannelEqualization, Cifar10, ImageFolder, LuminanceEqualization

from .conftest import Headgrid


@pytest.mark.parametrize("name", ["intel-san15-patchwise", "quadratic"])
@pytest.mark.parametrize("kind", ["channel-equalization", "luminance-equalization"])
def test_chosen_by_its_kind(headgrid: Headgrid, name: str, kind: str):
    plain = yaml.safe_load(headgrid("show", name, "--size", "laptop").out)
    assert plain["data"]["equalization"] == {"kind": "no-equalization"}
    ended = headgrid("show", name, "--size", "laptop", "--data.equalization.kind", kind)
    assert ended.code == 0, ended.err
    assert yaml.safe_load(ended.out) == plain | {"data": plain["data"] | {"equalization": {"kind": kind}}}


def test_another_kind_is_refused(headgrid: Headgrid):
    ended = headgrid("show", "quadratic", "--data.equalization.kind", "histogram")
    assert ended.code == 2
    assert "no-equalization, channel-equalization, luminance-equalization" in ended.err


def test_the_images_of_a_run_stay_equalised_where_they_are_named_again(tmp_path: Path):
    trained_on = Cifar10(equalization=LuminanceEqualization())
    assert choose_data("cifar10", tmp_path, trained_on, (32, 32)) == Cifar10(
        tmp_path, equalization=LuminanceEqualization()
    )
    folder = ImageFolder(tmp_path, equalization=ChannelEqualization())
    assert choose_data(None, None, folder, (224, 224)) == folder
    assert choose_data(str(tmp_path), None, replace(folder, directory=Path("other")), (224, 224)) == folder
