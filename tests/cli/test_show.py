from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headgrid.attention import MultiheadAttentionConfig
from headgrid.data import Cifar100, Embedded, ImageFolder
from headgrid.experiments import Experiment, durations, experiment_from_yaml, make_experiment, shorten
from headgrid.experiments.hardware import fast_precision
from headgrid.experiments.kinds import kind_name
from headgrid.models import FullyAttentionalConfig
from headgrid.scores import QuadraticConfig, QueryPositionConfig, RandomCenters
from headgrid.training import AdamW, Constant, WeightAverage

from .conftest import Headgrid


@pytest.fixture
def shown(headgrid: Headgrid):
    """The experiment that a command line shows."""

    def run(*words: object) -> Experiment:
        ended = headgrid("show", *words)
        assert ended.code == 0, ended.err
        assert ended.err == ""
        return experiment_from_yaml(ended.out)

    return run


def attention_model(experiment: Experiment) -> FullyAttentionalConfig:
    assert isinstance(experiment.model, FullyAttentionalConfig)
    return experiment.model


def attention(experiment: Experiment) -> MultiheadAttentionConfig:
    config = attention_model(experiment).attention
    assert isinstance(config, MultiheadAttentionConfig)
    return config


@pytest.mark.parametrize("size", ["paper", "laptop", "tiny"])
def test_presets_as_they_are(shown, size):
    assert shown("learned-content", "--size", size) == make_experiment("learned-content", size)


def test_any_field(shown):
    experiment = shown(
        "quadratic",
        "--training.batch-size", "50",
        "--training.optimizer.learning-rate", "0.5",
        "--training.optimizer.nesterov",
        "--training.gradient-clip", "1e-3",
        "--model.attention.num-heads", "4",
        "--model.attention.scores.0.initialization.center-std", "3.5",
        "--model.heads-per-layer", "1", "2", "3", "4", "5", "6",
        "--data.num-validation", "10",
        "--seed", "5",
    )  # fmt: skip
    model = attention_model(experiment)
    assert experiment.training.batch_size == 50
    assert experiment.training.optimizer.learning_rate == 0.5
    assert experiment.training.optimizer.weight_decay == 1e-4
    assert experiment.training.optimizer.without_decay == ("centers", "spreads")
    assert experiment.training.gradient_clip == 1e-3
    assert attention(experiment).num_heads == 4
    assert attention(experiment).scores == (QuadraticConfig(RandomCenters(center_std=3.5)),)
    assert model.heads_per_layer == (1, 2, 3, 4, 5, 6)
    assert experiment.data.num_validation == 10  # type: ignore[union-attr]
    assert experiment.seed == 5


def test_other_kinds_of_parts_and_their_fields(shown):
    experiment = shown(
        "quadratic",
        "--training.optimizer.kind", "adamw",
        "--training.optimizer.betas", "0.8", "0.9",
        "--training.schedule.kind=constant",
        "--training.average.kind", "weight-average",
        "--training.average.decay", "0.5",
        "--model.attention.scores.kinds", "query-position", "quadratic",
        "--model.attention.scores.1.initialization.kind", "grid-centers",
        "--model.attention.scores.1.initialization.sharpness", "20",
        "--model.attention.dropout.kind", "dropout-per-image",
    )  # fmt: skip
    assert experiment.training.optimizer == AdamW(betas=(0.8, 0.9))
    assert experiment.training.schedule == Constant()
    assert experiment.training.average == WeightAverage(0.5)
    first, second = attention(experiment).scores
    assert first == QueryPositionConfig()
    assert isinstance(second, QuadraticConfig)
    assert second.initialization.sharpness == 20  # type: ignore[union-attr]


PER_IMAGE = ("--model.attention.dropout.kind", "dropout-per-image")


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        (("quadratic",), ()),
        (("generalized-quadratic",), ("--model.attention.scores.0.initialization.kind", "grid-centers")),
        (("learned-position",), ("--model.attention.scores.0.size-per-axis", "5")),
        (("query-position",), PER_IMAGE),
        (("content",), PER_IMAGE),
        (("query-position", "content"), PER_IMAGE),
        (("absolute-content",), PER_IMAGE),
        (("absolute-content",), ("--model.attention.scores.0.encoding.kind", "sinusoidal-absolute", *PER_IMAGE)),
        (("transformer-xl",), PER_IMAGE),
        (("transformer-xl",), ("--model.attention.scores.0.encoding.kind", "sinusoidal-relative", *PER_IMAGE)),
    ],
)
def test_every_kind_of_encoding_can_be_trained_in_place_of_another(shown, kinds: tuple[str, ...], more):
    experiment = shown("quadratic", "--size", "tiny", "--model.attention.scores.kinds", *kinds, *more)
    assert tuple(kind_name(type(term)) for term in attention(experiment).scores) == kinds
    model = replace(experiment.model, image_size=(8, 12)).build()
    optimizer = experiment.training.optimizer.build(model)
    model(torch.randn(2, 3, 8, 12)).sum().backward()
    optimizer.step()


def test_weight_decay_spares_what_is_there(shown):
    position = ("--model.attention.scores.kinds", "learned-position")
    assert shown("quadratic", *position).training.optimizer.without_decay == ()
    assert shown("quadratic", "--model.kind", "resnet").training.optimizer.without_decay == ()
    both = shown("quadratic", "--model.attention.scores.kinds", "learned-position", "quadratic")
    assert both.training.optimizer.without_decay == ("centers", "spreads")
    own = shown("quadratic", *position, "--training.optimizer.without-decay", "centers")
    assert own.training.optimizer.without_decay == ("centers",)  # what is asked for is not guessed at


def test_another_network_takes_the_images_of_the_experiment(shown):
    experiment = shown("resnet18", "--data", "cifar100", "--model.kind", "fully-attentional", "--model.dim", "8")
    assert attention_model(experiment).num_classes == 100
    assert attention_model(experiment).dim == 8


def test_short_options(shown):
    experiment = shown("resnet18", "--epochs", "30", "--precision", "bfloat16", "--seed", "3")
    assert experiment.training.precision == "bfloat16"
    assert experiment.training.schedule == shorten(make_experiment("resnet18"), 30).training.schedule
    assert experiment.seed == 3


def test_numbers_that_may_be_absent(shown):
    experiment = shown("quadratic", "--training.gradient-clip", "2", "--training.schedule.warmup-steps", "7")
    assert experiment.training.gradient_clip == 2.0
    assert experiment.training.schedule.warmup_steps == 7
    for word in ("None", "none"):
        assert shown("quadratic", "--training.gradient-clip", word).training.gradient_clip is None


def test_data(shown, tmp_path: Path):
    experiment = shown("quadratic", "--data", "cifar100", "--data-dir", "some/folder")
    assert experiment.data == Cifar100(directory=Path("some/folder"))
    assert experiment.model.num_classes == 100
    assert shown("quadratic", "--data", "embedded").data == Embedded()
    for name in ("cat", "dog", "owl"):
        (tmp_path / "images" / "train" / name).mkdir(parents=True)
    experiment = shown("learned", "--data", "images", "--data.image-size", "24", "40")
    assert experiment.data == ImageFolder(Path("images"), image_size=(24, 40))
    assert (experiment.model.num_classes, experiment.model.image_size) == (3, (24, 40))


def test_a_size_that_chose_its_data_keeps_what_it_chose(shown):
    assert shown("quadratic", "--size", "tiny", "--data", "embedded") == make_experiment("quadratic", "tiny")


def test_what_is_shown_can_be_read_and_changed(headgrid: Headgrid, shown, tmp_path: Path):
    (tmp_path / "mine.yaml").write_text(headgrid("show", "learned-query", "--size", "tiny").out)
    experiment = shown("--config", "mine.yaml", "--model.dim", "64")
    assert attention_model(experiment).dim == 64
    assert experiment.name == "learned-query"


def test_the_comment_names_the_time_in_each_precision(headgrid: Headgrid, monkeypatch: pytest.MonkeyPatch):
    measured = {("quadratic", "laptop"): {"bfloat16": 60.0, "float32": 180.0}}
    monkeypatch.setattr(durations, "SECONDS_PER_EPOCH", measured)
    comments = headgrid("show", "quadratic", "--size", "laptop", "--epochs", "10").out.splitlines()[:2]
    assert comments[0].startswith("# quadratic, size laptop: ")
    assert "10 min in bfloat16, 30 min in float32" in comments[1]
    assert headgrid("show", "quadratic").out.splitlines()[1] == "# expected time of training: not measured"


def test_laptops_are_shown_in_the_precision_that_they_would_use(shown):
    assert shown("quadratic", "--size", "laptop").training.precision == fast_precision()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a preset before all options (`headgrid presets` lists them), or a file with --config"),
        (("--model.dim", "8", "quadratic"), "name a preset before all options"),
        (("quadratc",), "there is no preset 'quadratc': did you mean 'quadratic'?"),
        (
            ("quadratic", "--data", "cifar11"),
            "--data cifar11: there is no such folder and no such data set: did you",
        ),
        (("quadratic", "--size", "tiny", "--data-dir", "x"), "--data-dir says where the CIFAR files are"),
        (("quadratic", "--config", "x.yaml"), "--config names a whole experiment: give no preset"),
        (("--config", "x.yaml", "--size", "tiny"), "x.yaml: no such file or directory"),
        (("--config", "x.yaml"), "x.yaml: no such file or directory"),
        (("quadratic", "--epochs", "0"), "num_epochs must be at least 1, but is 0"),
        (
            ("quadratic", "--model.pixel-concatenation", "3"),
            "model: image_size 32 x 32 must be a positive multiple of pixel_concatenation 3",
        ),
        (("quadratic", "--training.optimizer.kind", "adam"), "--training.optimizer.kind: there is no 'adam': did"),
        (("quadratic", "--training.optimizer.kind"), "--training.optimizer.kind takes one name"),
        (("quadratic", "--data.kind", "image-folder"), "image-folder has fields without a default"),
        (("quadratic", "--training.optimizer.learning-rate", "-1"), "learning_rate must be above 0"),
        (("quadratic", "--training.optimizer.weight-decay", "nan"), "weight_decay must be a number from 0 on, but"),
        (("quadratic", "--training.save-minutes", "nan"), "save_minutes must not be negative, but is nan"),
        (("quadratic", "--model.block.hidden-dim", "-4"), "hidden_dim must be at least 1, got -4"),
        (("quadratic", "--model.block.dropout", "nan"), "dropout must be at least 0 and below 1, got nan"),
        (("quadratic", "--model.block.norm-epsilon", "-1"), "norm_epsilon must be a number from 0 on, got -1.0"),
        (("learned", "--model.attention.scores.0.size-per-axis", "-1"), "size_per_axis must be at least 1, got -1"),
        (
            ("quadratic", "--model.attention.scores.0.initialization.center-std", "nan"),
            "center_std must be a number from 0 on, got nan",
        ),
        (("quadratic", "--seed", "99999999999999999999"), "seed must not be negative, and below 2 ** 64, but is"),
        (("quadratic", "--epochs", "ten"), "--epochs: expected a whole number or None, got 'ten'"),
        (("quadratic", "--training.batch-size", "2.5"), "batch-size: expected a whole number, got '2.5'"),
        (("quadratic", "--training.gradient-clip", "x"), "gradient-clip: expected a number or None, got 'x'"),
        (("quadratic", "--model.attention.scores.kinds", "content"), "use DropoutPerImage (--model.attention.drop"),
    ],
)
def test_mistakes_end_in_one_sentence(headgrid: Headgrid, words: tuple[str, ...], message: str):
    ended = headgrid("show", *words)
    assert ended.code == 2
    assert ended.out == ""
    assert message in " ".join(ended.err.replace("│", " ").split())
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--training.bacth-size", "--training.batch-size"),
        ("--model.dmi", "--model.dim"),
        ("--model.block.knd", "--model.block.kind"),
        ("--presicion", "--precision"),
    ],
)
def test_misspelt_flags_get_a_suggestion(headgrid: Headgrid, flag: str, meant: str):
    ended = headgrid("show", "quadratic", flag, "3")
    assert ended.code == 2
    assert ended.out == ""
    assert "Unrecognized options" in ended.err
    assert meant in ended.err


def test_help_has_a_line_for_each_field_and_names_all_kinds(headgrid: Headgrid):
    general = headgrid("show", "--help").out
    assert "`headgrid show PRESET --help` lists them" in " ".join(general.replace("│", " ").split())
    text = headgrid("show", "learned", "--help").out
    assert "--model.attention.scores.0.size-per-axis" in text
    assert "Channels of a pixel, D. (default: 400)" in text
    assert "--training.optimizer.kind {sgd,adamw}" in text
    assert "--training.average.kind {weight-average,none}" in text
