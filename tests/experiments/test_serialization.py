from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from headgrid.attention import GroupedValues, MultiheadAttentionConfig, SplitHeads
from headgrid.data import Cifar100, ImageFolder
from headgrid.encodings import SinusoidalAbsoluteConfig
from headgrid.experiments import (
    PRESETS,
    Experiment,
    experiment_from_yaml,
    experiment_to_yaml,
    make_experiment,
    read_experiment,
)
from headgrid.experiments.serialization import model_from_yaml, model_to_yaml
from headgrid.experiments.sizes import SIZES
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import AbsoluteContentConfig, GridCenters, QuadraticConfig, TransformerXLConfig
from headgrid.training import AdamW, Constant, TrainingConfig, WeightAverage


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_and_size_comes_back_as_it_was(name: str, size: Any):
    experiment = make_experiment(name, size)
    text = experiment_to_yaml(experiment)
    assert experiment_from_yaml(text) == experiment
    assert experiment_to_yaml(experiment_from_yaml(text)) == text
    assert model_from_yaml(model_to_yaml(experiment.model)) == experiment.model


def unusual() -> Experiment:
    return Experiment(
        name="of my own: with signs, größer",
        model=FullyAttentionalConfig(
            attention=MultiheadAttentionConfig(
                scores=(
                    QuadraticConfig(GridCenters(sharpness=0.1 + 0.2)),
                    AbsoluteContentConfig(SinusoidalAbsoluteConfig()),
                    TransformerXLConfig(encoding_size=12),
                ),
                heads=SplitHeads(),
                values=GroupedValues(2),
            ),
            heads_per_layer=(2, 4, 1, 2, 6, 1),
            image_size=(32, 48),
        ),
        data=ImageFolder(Path("some") / "folder", num_workers=0),
        training=TrainingConfig(
            num_epochs=7,
            batch_size=3,
            optimizer=AdamW(learning_rate=1e-5, betas=(0.9, 1 / 3), without_decay=("centers", "head.bias")),
            schedule=Constant(),
            gradient_clip=1e-12,
            average=WeightAverage(0.99),
        ),
        seed=2**40,
    )


def test_paths_tuples_nothing_and_every_digit_survive():
    assert experiment_from_yaml(experiment_to_yaml(unusual())) == unusual()


def test_files(tmp_path: Path):
    (tmp_path / "experiment.yaml").write_text(experiment_to_yaml(unusual()), encoding="utf-8")
    assert read_experiment(tmp_path / "experiment.yaml") == unusual()


def test_every_field_is_written_out_in_the_order_of_its_class():
    def check(plain: dict, value: Any) -> None:
        names = [field.name for field in fields(value)]
        assert [key for key in plain if key != "kind"] == names
        for name in names:
            if is_dataclass(getattr(value, name)):
                check(plain[name], getattr(value, name))

    experiment = make_experiment("learned-content")
    check(yaml.safe_load(experiment_to_yaml(experiment)), experiment)


def test_the_text_is_plain_and_short():
    text = experiment_to_yaml(unusual())
    assert "!" not in text
    assert "&" not in text
    assert "image_size: [32, 48]" in text
    assert "kind: grid-centers" in text


def test_what_is_left_out_has_its_default():
    text = """
    name: short
    model: {kind: resnet}
    data: {kind: cifar100}
    training: {num_epochs: 1, batch_size: 2}
    """
    experiment = experiment_from_yaml(text)
    assert experiment.data == Cifar100()
    assert experiment.training == TrainingConfig(1, 2)
    assert experiment.seed == 0


def test_numbers_that_yaml_takes_for_words():
    text = experiment_to_yaml(make_experiment("quadratic"))
    small = experiment_from_yaml(text.replace("gradient_clip: null", "gradient_clip: 1e-4"))
    assert small.training.gradient_clip == 1e-4


@pytest.mark.parametrize(
    ("found", "written", "message"),
    [
        ("batch_size: 100", "bacth_size: 100", "unknown key training.bacth_size: did you mean 'batch_size'?"),
        ("seed: 0\n", "", None),
        ("name: learned-content\n", "", "the key name is missing"),
        ("batch_size: 100", "other: 100", "unknown key training.other: expected one of num_epochs, batch_size"),
        (
            "kind: content",
            "kind: contant",
            "model.attention.scores[1]: unknown kind 'contant': did you mean 'content'?",
        ),
        ("kind: content", "knid: content", "model.attention.scores[1]: expected a mapping with the key kind (quad"),
        ("kind: content", "kind: content\n      width: 3", "unknown key model.attention.scores[1].width: nothing"),
        ("dim: 400", "dim: 4.5", "model.dim: expected a whole number, but got 4.5"),
        ("dim: 400", "dim: true", "model.dim: expected a whole number, but got True"),
        ("dim: 400", "dim: [", "is no YAML"),
        ("dropout: 0.1", "dropout: yes", "model.block.dropout: expected a number, but got True"),
        ("query_key_bias: true", "query_key_bias: 1", "query_key_bias: expected true or false, but got 1"),
        ("[32, 32]", "[32]", "model.image_size: expected a list of 2, but got [32]"),
        ("[32, 32]", "[32, a]", "model.image_size[1]: expected a whole number, but got 'a'"),
        ("[32, 32]", "32", "model.image_size: expected a list, but got 32"),
        ("without_decay: []", "without_decay: centers", "without_decay: expected a list, but got 'centers'"),
        ("name: learned-content", "name: 3", "name: expected text, but got 3"),
        ("precision: float32", "precision: float16", "training.precision: unknown word 'float16': did you mean"),
        ("learning_rate: 0.1", "learning_rate: -1", "training.optimizer: learning_rate must be above 0"),
        ("momentum: 0.9", "momentum: 0.9\n    momentum: 0.8", "the key 'momentum' stands there twice in line"),
        ("average: null", "average: 3", "training.average: expected a mapping (decay), but got 3"),
        ("kind: cifar10", "kind: null", "data: unknown kind None: expected one of cifar10, cifar100"),
    ],
)
def test_mistakes_are_named_with_their_path(found: str, written: str, message: str | None):
    text = experiment_to_yaml(make_experiment("learned-content"))
    assert found in text
    changed = text.replace(found, written, 1)
    if message is None:
        experiment_from_yaml(changed)
        return
    with pytest.raises(ValueError, match=r"^my\.yaml") as error:
        experiment_from_yaml(changed, "my.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "word", "3"])
def test_a_file_that_holds_no_mapping(text: str):
    with pytest.raises(ValueError, match="holds no mapping of names to values"):
        experiment_from_yaml(text)


def test_nothing_in_a_file_is_run():
    with pytest.raises(ValueError, match="is no YAML"):
        experiment_from_yaml("name: !!python/object/apply:os.getcwd []")
