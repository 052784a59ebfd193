import inspect
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
import torch

from headgrid.attention import DropoutPerBatch, DropoutPerImage
from headgrid.data import Cifar10, CropAndFlip
from headgrid.experiments import PRESETS, find_preset, make_experiment
from headgrid.layers import LearnedClassTokenConfig, RandomClassTokenConfig
from headgrid.models import AsPublished, Corrected, FullyAttentionalConfig, HierarchicalSANConfig, ViTConfig
from headgrid.stacks import Hierarchical, KeptKey, OfAllPasses, OfEachPass, SharedWeights
from headgrid.training import SGD, Cosine, MultiStep

EMBEDDING_AND_CLASSIFIER = (12 + 1) * 400 + (400 + 1) * 10
"""What is not in the six blocks of 400 channels."""


def with_one_block(num_parameters: int) -> int:
    return (num_parameters - EMBEDDING_AND_CLASSIFIER) // 6 + EMBEDDING_AND_CLASSIFIER


PARAMETERS = {
    "resnet18": 11_173_962,
    "quadratic": 12_086_844,
    "quadratic-generalized": 12_087_006,
    "learned": 12_278_682,
    "learned-query": 20_822_682,
    "learned-content": 29_484_282,
    "quadratic-16-heads": 7_538_058,
    "learned-16-heads": 13_973_802,
    "learned-content-16-heads": 26_459_754,
    "learned-content-report-block": 28_478_682,
    "report-vit": 37_394_506,
    "quadratic-hierarchical": with_one_block(12_086_844),
    "quadratic-generalized-hierarchical": with_one_block(12_087_006),
    "learned-hierarchical": with_one_block(12_278_682),
    "learned-query-hierarchical": with_one_block(20_822_682),
    "learned-content-hierarchical": 4_754_122,
    "learned-content-16-heads-hierarchical": 4_414_874,
    "learned-content-paper-block-hierarchical": 4_921_722,
    "report-san-pairwise-hierarchical": 352_750,
    "report-san-patchwise-hierarchical": 356_282,
    "report-vit-hierarchical": 6_531_946,
    "report-san-pairwise-corrected": 3_737_056,
    "report-san-patchwise-corrected": 3_851_142,
    "report-san-pairwise-hierarchical-corrected": 348_654,
    "report-san-patchwise-hierarchical-corrected": 352_186,
    "report-vit-corrected": 37_394_762,
    "report-vit-hierarchical-corrected": 6_532_202,
    "san10-pairwise": 10_531_848,
    "san10-patchwise": 11_841_124,
    "san15-pairwise": 14_065_436,
    "san15-patchwise": 16_181_310,
    "san19-pairwise": 17_596_156,
    "san19-patchwise": 20_518_470,
    "resnet26": 13_696_552,
    "resnet38": 19_626_792,
    "resnet50": 25_557_032,
    "report-san-pairwise": 3_737_056,
    "report-san-patchwise": 3_851_142,
    # SAN15 with a classifier of 6 classes instead of 1,000.
    "intel-san15-patchwise": 16_181_310 - 994 * (2048 + 1),
    "vit-tiny": 5_717_416,
    "vit-small": 22_050_664,
    "vit-base": 86_567_656,
    # ViT-tiny with 12 x 12 pixels of a patch less, 132 places less, and 990 classes less.
    "vit-cifar": 5_717_416 - 192 * 3 * (16**2 - 4**2) - 192 * (14**2 - 8**2) - 990 * (192 + 1),
}
ATTENTION_PRESETS = [name for name in PARAMETERS if name.startswith(("quadratic", "learned"))]
IN_THE_REPORT_BLOCK = (
    "quadratic-16",
    "learned-16",
    "learned-content-16",
    "learned-content-report-block",
    "learned-content-hierarchical",
)


def test_the_presets_are_the_published_rows():
    assert list(PRESETS) == list(PARAMETERS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_numbers_of_parameters(name: str):
    with torch.device("meta"):
        model = make_experiment(name).model.build()
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_docstring_opens_with_the_command_and_says_what_was_reached(name: str):
    documentation = inspect.getdoc(PRESETS[name].make)
    assert documentation is not None
    command, _, numbers, *_ = documentation.splitlines()
    assert command == f"`headgrid train {name}`"
    assert "Ours:" in numbers
    accuracy = PRESETS[name].accuracy
    assert ("no number" if accuracy is None else f": {accuracy}") in numbers


@pytest.mark.parametrize("name", ATTENTION_PRESETS)
def test_the_recipe_of_attention(name: str):
    training = make_experiment(name).training
    assert (training.num_epochs, training.batch_size) == (300, 100)
    assert isinstance(training.schedule, Cosine)
    assert training.schedule.num_warmup_steps(300 * 450) == 15 * 450
    optimizer = training.optimizer
    assert isinstance(optimizer, SGD)
    assert (optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay) == (0.1, 0.9, 1e-4)
    assert optimizer.nesterov == name.startswith(IN_THE_REPORT_BLOCK)


@pytest.mark.parametrize("ending", ["", "-corrected"])
@pytest.mark.parametrize(("kind", "batch_size"), [("pairwise", 40), ("patchwise", 100)])
def test_the_recipe_of_hierarchical_san(kind: str, batch_size: int, ending: str):
    experiment = make_experiment(f"report-san-{kind}-hierarchical{ending}")
    training = experiment.training
    assert (training.num_epochs, training.batch_size, training.label_smoothing) == (300, batch_size, 0.1)
    assert training.optimizer == SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    assert isinstance(training.schedule, Cosine)
    assert training.schedule.num_warmup_steps(300 * 1125) == 10 * 1125


def test_corrected_presets_differ_from_the_published_in_what_was_wrong():
    """The forms differ in the model as named here, and the augmentation is that of all other presets."""
    corrected = [name for name in PRESETS if name.endswith("-corrected")]
    assert len(corrected) == 6
    for name in corrected:
        published, ours = make_experiment(name.removesuffix("-corrected")), make_experiment(name)
        assert ours.data == Cifar10(augmentation=CropAndFlip(padding=4))
        assert ours.training == published.training
        model = published.model
        if isinstance(model, HierarchicalSANConfig):
            assert isinstance(model.form, AsPublished)
            assert model.stack == Hierarchical(SharedWeights(OfAllPasses()), KeptKey())
            model = replace(model, form=Corrected(), stack=Hierarchical(SharedWeights(OfEachPass()), KeptKey()))
        if isinstance(model, ViTConfig):
            assert isinstance(model.class_token, RandomClassTokenConfig)
            model = replace(model, class_token=LearnedClassTokenConfig())
        else:
            assert published.data == Cifar10(augmentation=CropAndFlip(padding=0))
        assert ours.model == model


@pytest.mark.parametrize("name", ["san10-pairwise", "san19-patchwise", "resnet38"])
def test_the_recipe_of_san(name: str):
    training = make_experiment(name).training
    assert (training.num_epochs, training.batch_size, training.label_smoothing) == (100, 256, 0.1)
    assert training.optimizer == SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4)
    assert training.schedule == Cosine(warmup_fraction=0.0)


def test_the_recipe_of_the_report_s_vit():
    training = make_experiment("report-vit").training
    assert (training.num_epochs, training.batch_size) == (100, 32)
    assert training.optimizer == SGD(learning_rate=0.01, momentum=0.9, weight_decay=1e-4, nesterov=True)
    assert isinstance(training.schedule, Cosine)
    assert training.schedule.num_warmup_steps(100 * 1407) == 5 * 1407


@pytest.mark.parametrize("name", ["quadratic", "quadratic-generalized"])
def test_the_paper_does_not_decay_centers_and_spreads(name: str):
    experiment = make_experiment(name)
    with torch.device("meta"):
        groups = experiment.training.optimizer.build(experiment.model.build()).param_groups
    spared = [parameter for group in groups if group["weight_decay"] == 0 for parameter in group["params"]]
    sizes = (2 + 1, 2 + 4)[name == "quadratic-generalized"]
    assert sum(parameter.numel() for parameter in spared) == 6 * 9 * sizes


def test_the_recipe_of_the_resnet():
    schedule = make_experiment("resnet18").training.schedule
    assert schedule == MultiStep(epochs=(80, 150, 250), factor=0.1)


@pytest.mark.parametrize("name", ATTENTION_PRESETS)
def test_one_mask_for_a_batch_belongs_to_quadratic_attention(name: str):
    model = make_experiment(name).model
    assert isinstance(model, FullyAttentionalConfig)
    kind = DropoutPerBatch if name.startswith("quadratic") else DropoutPerImage
    assert model.attention.dropout == kind(0.1)


def documented(kind: type) -> None:
    """Fields of a dataclass each have a line of documentation, which --help shows."""
    source = inspect.getsource(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        _, _, after = source.partition(f"\n    {field.name}: ")
        if not after:
            continue  # inherited
        following = [line.strip() for line in after.splitlines()[1:4]]
        assert any(line.startswith('"""') or line == ")" for line in following), f"{kind.__name__}.{field.name}"


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_field_has_a_line_of_help(name: str):
    def check(value: Any) -> None:
        documented(type(value))
        for field in fields(value):
            current = getattr(value, field.name)
            for part in current if isinstance(current, tuple) else (current,):
                if is_dataclass(part):
                    check(part)

    check(make_experiment(name))


def test_misspelt_names():
    with pytest.raises(ValueError, match="no preset 'quadratc': did you mean 'quadratic'"):
        find_preset("quadratc")


def test_misspelt_sizes():
    """In a process of its own: here the types of arguments are checked before the function sees them."""
    program = "import headgrid; headgrid.create('quadratic', size='huge')"
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert "ValueError: there is no size 'huge': expected one of paper, laptop, tiny" in ended.stderr
