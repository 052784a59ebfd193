import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import headgrid as package
from headgrid.attention import DropoutPerImage, MultiheadAttentionConfig, TokenAttentionConfig
from headgrid.data import Embedded
from headgrid.experiments import Model, experiment_of, load, make_experiment, save_model
from headgrid.models import FullyAttentionalConfig, PatchStemConfig, ViTConfig
from headgrid.scores import ContentConfig, GeneralizedQuadraticConfig, QueryPositionConfig
from headgrid.stacks import Hierarchical

from .conftest import SHORT, Headgrid

CPU = ("--device", "cpu")
SMALL = Embedded(num_train=50, num_validation=30, num_test=60)
"""What the files of these tests say that their models were trained on."""


def save(model: Model, path: Path) -> Path:
    experiment = make_experiment("quadratic-generalized", "tiny")
    save_model(model, path, experiment=replace(experiment, model=model.config, data=SMALL))
    return path


@pytest.fixture
def gaussian(tmp_path: Path) -> Path:
    """Six layers of nine heads, of which [2, 4, 1, 2, 9, 0] have degenerated."""
    torch.manual_seed(0)
    attention = MultiheadAttentionConfig(num_heads=9, scores=(GeneralizedQuadraticConfig(),))
    model = FullyAttentionalConfig(dim=16, pixel_concatenation=4, attention=attention).build()
    with torch.no_grad():
        for block, number in zip(model.stack.blocks, (2, 4, 1, 2, 9, 0), strict=True):
            spreads = block.attention.score.terms[0].spreads
            spreads[9 - number :] = torch.diag(torch.tensor([1.0, 1e-3]))
            spreads[9 - number // 2 :] = 1e-3 * torch.eye(2)
    return save(model, tmp_path / "gaussian.safetensors")


def test_the_papers_way(headgrid: Headgrid, gaussian: Path):
    ended = headgrid("prune", gaussian, "out.safetensors", "--evaluate", *CPU, "--json")
    assert ended.code == 0, ended.err
    assert ended.err.endswith("wrote out.safetensors\n")
    report = json.loads(ended.out)
    assert report["by"] == "degeneracy"
    assert report["criterion"]["condition_number"] == 1e5
    assert report["before"]["heads_per_layer"] == [9, 9, 9, 9, 9, 9]
    assert report["after"]["heads_per_layer"] == [7, 5, 8, 7, 0, 9]
    assert [len(layer["removed"]) for layer in report["layers"]] == [2, 4, 1, 2, 9, 0]
    assert report["layers"][1]["removed"] == [5, 6, 7, 8]
    reasons = {each["reason"] for each in report["heads"] if each["layer"] == "stack.blocks.1.attention"}
    assert reasons == {
        None,
        "looks at a stripe: condition number 1e+06 > 100000",
        "looks everywhere: largest eigenvalue 1e-06 < 1e-05",
    }

    whole, smaller = package.load(gaussian), package.load("out.safetensors")
    for model, side in ((whole, "before"), (smaller, "after")):
        assert report[side]["cost"]["num_parameters"] == sum(each.numel() for each in model.parameters())
    # A head has 16 x 16 weights in the output matrix, a centre and a spread.
    numbers = [report[side]["cost"]["num_parameters"] for side in ("before", "after")]
    assert numbers[0] - numbers[1] == 18 * (16 * 16 + 2 + 4)
    assert report["before"]["cost"]["macs"] > report["after"]["cost"]["macs"]
    evaluation = json.loads(headgrid("evaluate", "out.safetensors", *CPU, "--json").out)
    assert evaluation["accuracy"] == report["after"]["accuracy"]
    analysis = headgrid("analyze", "out.safetensors", *CPU, "--images", "5", "--json", "--out", "here")
    assert analysis.code == 0, analysis.err
    assert [len(layer["heads"]) for layer in json.loads(analysis.out)["layers"]] == [7, 5, 8, 7, 9]


def test_a_table_for_people(headgrid: Headgrid, gaussian: Path):
    out = headgrid("prune", gaussian, "out.safetensors", "--device", "cpu").out
    assert "heads per layer          [9, 9, 9, 9, 9, 9]  [7, 5, 8, 7, 0, 9]" in out
    assert "[2, 4, 1, 2, 9, 0]" in out
    assert "stack.blocks.2.attention 8  looks at a stripe: condition number 1e+06 > 100000" in out
    assert "FLOPs, as the paper" in out
    assert "accuracy" not in out


def test_thresholds_and_numbers_of_heads(headgrid: Headgrid, gaussian: Path):
    def left(*words: object) -> list[int]:
        ended = headgrid("prune", gaussian, "out.safetensors", "--force", "--device", "cpu", "--json", *words)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)["after"]["heads_per_layer"]

    assert sum(left("--condition-number", "1e7")) == 54 - 8
    assert sum(left("--eigenvalue", "0")) == 54 - 10
    assert left("--condition-number", "1e3") == [7, 5, 8, 7, 0, 9]
    assert sum(left("--remove", "20")) == 34
    assert sum(left("--keep", "50")) == 50
    assert sum(left("--fraction", "0.2")) == 44


@pytest.fixture
def with_content(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    scores = (QueryPositionConfig(), ContentConfig())
    attention = MultiheadAttentionConfig(num_heads=3, scores=scores, dropout=DropoutPerImage(0.0))
    model = FullyAttentionalConfig(dim=8, num_layers=2, pixel_concatenation=8, attention=attention).build()
    return save(model, tmp_path / "content.safetensors")


@pytest.mark.parametrize("by", ["entropy", "content", "gradient", "redundancy"])
def test_criteria_that_look_at_images(headgrid: Headgrid, with_content: Path, by: str):
    words = ("--by", by, "--remove", "2", "--images", "20", "--json", *CPU)
    ended = headgrid("prune", with_content, "out.safetensors", *words)
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert sum(report["after"]["heads_per_layer"]) == 4
    gone = [each["value"] for each in report["heads"] if each["reason"] is not None]
    stay = [each["value"] for each in report["heads"] if each["reason"] is None]
    assert max(gone) <= min(stay) if by in ("content", "gradient") else min(gone) >= max(stay)


def test_a_hierarchical_vit(headgrid: Headgrid, tmp_path: Path):
    attention = TokenAttentionConfig(4)
    stem = PatchStemConfig(patch_size=8)
    about = {"attention": attention, "stack": Hierarchical(), "image_size": (32, 32), "num_classes": 10}
    config = ViTConfig(dim=8, num_layers=3, stem=stem, **about)
    save(config.build(), tmp_path / "vit.safetensors")
    words = ("--by", "gradient", "--keep", "3", "--images", "20", "--json", *CPU)
    report = json.loads(headgrid("prune", "vit.safetensors", "out.safetensors", *words).out)
    assert report["after"]["heads_per_layer"] == [3, 3, 3]
    assert [layer["name"] for layer in report["layers"]] == ["stack.blocks.*.attention"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("RUN", "out.safetensors"), "a ResNet has no attention heads that could be removed"),
        (("SAN", "out.safetensors"), "a SAN has no heads to remove: its weights are vectors"),
        (("MODEL", "out"), "should be a file that ends in .safetensors"),
        (("MODEL", "MODEL"), "exists already: choose another name, or replace it with --force"),
        (("nothing", "out.safetensors"), "nothing does not exist: expected a run folder or a .safetensors file"),
        (
            ("NAMELESS", "out.safetensors", "--by", "entropy"),
            "does not say what it was trained on: name the",
        ),
        (("NAMELESS", "out.safetensors", "--evaluate"), "does not say what it was trained on: name the"),
        (("MODEL", "out.safetensors", "--remove", "54"), "54 heads cannot go: the model has 54"),
        (("MODEL", "out.safetensors", "--remove", "3", "--keep", "3"), "remove and keep each say"),
        (("MODEL", "out.safetensors", "--condition-number", "0"), "condition number must be at least 1"),
        (("MODEL", "out.safetensors", "--eigenvalue", "0", "--condition-number", "1e9"), "no head goes by"),
        (
            ("MODEL", "out.safetensors", "--by", "entropy", *CPU, "--images", "0"),
            "--images 0: embedded has 30 validation images, so take 1 to 30",
        ),
    ],
)
def test_mistakes(headgrid: Headgrid, trained: Path, gaussian: Path, words: tuple[str, ...], message: str):
    save_model(make_experiment("san10-pairwise", "tiny").model.build(), "san.safetensors")
    save_model(load(gaussian), "nameless.safetensors")
    files = {"SAN": "san.safetensors", "NAMELESS": "nameless.safetensors"}
    named = {"RUN": trained, "MODEL": gaussian, **files}
    ended = headgrid("prune", *(named.get(word, word) for word in words))
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert not Path("out.safetensors").exists()


def test_options_belong_to_their_criterion(headgrid: Headgrid, gaussian: Path):
    ended = headgrid("prune", gaussian, "out.safetensors", "--by", "entropy", "--condition-number", "3")
    assert ended.code == 2
    assert "Unrecognized" in ended.out + ended.err
    assert "--condition-number" in headgrid("prune", "--help").out
    help_of_entropy = headgrid("prune", "--by", "entropy", "--help").out
    assert "--threshold" in help_of_entropy
    assert "--condition-number" not in help_of_entropy


def test_train_prune_retrain(headgrid: Headgrid, tmp_path: Path):
    """The whole of appendix A.1 in small: the run, the file, the run that goes on."""
    words = ("quadratic-generalized", "--size", "tiny", "--epochs", "3", *SHORT)
    assert headgrid("train", *words, "--run", "base").code == 0
    assert headgrid("prune", "base", "pruned.safetensors", "--remove", "5", "--evaluate").code == 0
    experiment = experiment_of(Path("pruned.safetensors"))
    assert experiment is not None
    heads = experiment.model.heads_of_layers
    assert sum(heads) == 13

    ended = headgrid("train", "--from", "pruned.safetensors", "--epochs", "2", "--device", "cpu")
    assert ended.code == 0, ended.err
    folder = tmp_path / "runs" / "quadratic-generalized-retrained-tiny-seed0"
    stored = experiment_of(folder)
    assert stored is not None
    assert stored.model == experiment.model
    assert stored.data == experiment.data
    assert stored.training.num_epochs == 2
    assert stored.training.optimizer.learning_rate == pytest.approx(0.01)
    assert package.load(folder).config.heads_of_layers == heads
    assert "published" not in ended.out
    Path("pruned.safetensors").unlink()
    assert headgrid("train", "--run", folder, "--resume", "--device", "cpu").code == 0
    again = headgrid("train", "--config", folder / "experiment.yaml", "--run", "again", "--device", "cpu")
    assert again.code == 0, again.err
    files = [run / "checkpoints" / "last.safetensors" for run in (folder, tmp_path / "again")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert headgrid("report", folder).code == 0


def test_a_layer_without_heads_is_trained_and_reported(headgrid: Headgrid, gaussian: Path):
    assert headgrid("prune", gaussian, "out.safetensors", "--device", "cpu").code == 0
    ended = headgrid("train", "--from", "out.safetensors", "--run", "run", *CPU)
    assert ended.code == 0, ended.err
    assert package.load("run").config.heads_per_layer == (7, 5, 8, 7, 0, 9)
    assert headgrid("report", "run").code == 0
    assert headgrid("analyze", "run", "--images", "3").code == 0
