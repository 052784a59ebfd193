"""What is counted on turned and attacked images, against counts by hand."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from headgrid.data import Embedded, NoAugmentation, Normalization
from headgrid.data.dataset import Batches
from headgrid.data.tensor_dataset import LabelledImages, TensorDataset
from headgrid.evaluation.adversarial import PGD, LeastLikelyTarget, RandomTarget, from_pixels
from headgrid.evaluation.robustness import Robustness, num_passes, robustness
from headgrid.evaluation.rotation import ROTATIONS, Rotation, UpsideDown
from headgrid.experiments import make_experiment

NORMALIZATION = Normalization((0.5, 0.4, 0.3), (0.2, 0.25, 0.3))
NUM_IMAGES, NUM_CLASSES = 30, 7
ATTACK = PGD(epsilon=0.1, step_size=0.05, num_steps=3)
CHECKS = (*ROTATIONS, ATTACK, replace(ATTACK, goal=RandomTarget()), replace(ATTACK, goal=LeastLikelyTarget()))


def batches(batch_size: int, num_classes: int = NUM_CLASSES, size: tuple[int, int] = (5, 8)) -> Batches:
    random = torch.Generator().manual_seed(0)
    images = torch.randint(256, (NUM_IMAGES, 3, *size), generator=random).to(torch.uint8)
    data = LabelledImages(images, torch.randint(num_classes, (NUM_IMAGES,), generator=random))
    names = tuple(f"class {label}" for label in range(num_classes))
    return TensorDataset("made", names, NORMALIZATION, NoAugmentation(), data, data, data).evaluation_batches(
        "test", batch_size
    )


class Small(nn.Module):
    """Knows rows from columns, takes images of all sizes, and computes something else in training."""

    def __init__(self, num_classes: int = NUM_CLASSES) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convolution = nn.Conv2d(3, 8, (2, 3))
        self.norm = nn.BatchNorm2d(8)
        self.linear = nn.Linear(16, num_classes)
        self.modes: list[bool] = []
        self.asked: set[str] = set()
        """Names of parameters that asked for gradients in a forward pass."""

    def forward(self, images: Tensor) -> Tensor:
        self.modes.append(self.training)
        self.asked |= {name for name, parameter in self.named_parameters() if parameter.requires_grad}
        maps = self.norm(self.convolution(images)).tanh()
        features = torch.cat([maps.mean((2, 3)), maps[:, :, 0].amax(2)], dim=1)
        return self.linear(nn.functional.dropout(features, 0.5, self.training))


def measured(batch_size: int = 7, model: nn.Module | None = None, checks: tuple = CHECKS) -> Robustness:
    return robustness(model or Small(), batches(batch_size), NUM_CLASSES, NORMALIZATION, checks)


def count(model: nn.Module, images: Tensor, labels: Tensor) -> tuple[float, float, list[int]]:
    """Top-1 and top-5 accuracy, and the guesses, image by image."""
    num_right, num_top, guesses = 0, 0, []
    for image, label in zip(images, labels.tolist(), strict=True):
        logits = model(image[None])[0].tolist()
        best = sorted(range(len(logits)), key=lambda one: -logits[one])
        guesses.append(best[0])
        num_right += best[0] == label
        num_top += label in best[:5]
    return num_right / len(labels), num_top / len(labels), guesses


def test_turned_images_are_counted_as_turned_by_hand():
    found = measured()
    model = Small().eval()
    images, labels = next(iter(batches(NUM_IMAGES).epoch(0)))
    top1, top5, _ = count(model, images, labels)
    assert (found.unchanged.accuracy, found.unchanged.top5_accuracy) == (top1, top5)
    assert [outcome.check for outcome in found.outcomes] == list(CHECKS)
    for outcome in found.outcomes[:4]:
        assert isinstance(outcome.check, Rotation | UpsideDown)
        now1, now5, _ = count(model, outcome.check.apply(images), labels)
        assert outcome.evaluation.accuracy == now1
        assert outcome.drop == pytest.approx(top1 - now1)
        assert outcome.top5_drop == pytest.approx(top5 - now5)
        assert outcome.success_rate is None
    assert len({outcome.evaluation.loss for outcome in found.outcomes[:4]}) == 4


def test_an_attack_succeeds_where_a_right_answer_turns_wrong():
    found = measured()
    model = Small().eval()
    images, labels = next(iter(batches(NUM_IMAGES).epoch(0)))
    top1, _, before = count(model, images, labels)
    pixels = (images * torch.tensor(NORMALIZATION.std).view(3, 1, 1)) + torch.tensor(NORMALIZATION.mean).view(
        3, 1, 1
    )
    assert (255 * pixels - (255 * pixels).round()).abs().max() < 1e-3
    for outcome in found.outcomes[4:]:
        check = outcome.check
        assert isinstance(check, PGD)
        attack = check.begin()
        aims = attack.aims(model(images).detach(), labels)
        changed = pixels + attack.perturbation(lambda p: model(from_pixels(p, NORMALIZATION)), pixels, aims)
        now1, _, after = count(model, from_pixels(changed, NORMALIZATION).detach(), labels)
        right = [number for number, label in enumerate(labels.tolist()) if before[number] == label]
        if check.goal.sign > 0:
            reached = [number for number in right if after[number] != int(labels[number])]
        else:
            reached = [number for number in right if after[number] == int(aims[number])]
        assert outcome.evaluation.accuracy == now1
        assert outcome.drop == pytest.approx(top1 - now1)
        assert outcome.success_rate == pytest.approx(len(reached) / len(right))
    untargeted, *targeted = (outcome.success_rate for outcome in found.outcomes[4:])
    assert untargeted is not None
    assert untargeted > 0
    assert any(rate is not None and 0 < rate <= untargeted for rate in targeted)


def test_batch_size_makes_no_difference():
    whole = measured(NUM_IMAGES)
    for batch_size in (1, 4, 7):
        found = measured(batch_size)
        for one, other in zip(found.outcomes, whole.outcomes, strict=True):
            assert one.evaluation.accuracy == other.evaluation.accuracy
            assert one.evaluation.loss == pytest.approx(other.evaluation.loss, rel=1e-5)
            assert (one.drop, one.top5_drop) == (other.drop, other.top5_drop)
            assert one.success_rate == other.success_rate


def test_a_check_does_not_depend_on_the_others():
    together = measured().outcomes
    for number, check in enumerate(CHECKS):
        assert measured(checks=(check,)).outcomes == (together[number],)


def test_the_model_is_measured_in_eval_mode_and_stays_as_it_is():
    model = Small().train()
    model.norm.eval()
    model.linear.bias.requires_grad_(False)
    model.convolution.weight.grad = torch.ones_like(model.convolution.weight)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    found = measured(model=model)
    assert not any(model.modes)
    assert not model.asked  # gradients of parameters would be computed for nothing
    assert [module.training for module in model.modules()] == [True, True, False, True]
    torch.testing.assert_close(model.state_dict(), state, rtol=0, atol=0)
    asked = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    assert [name for name, asks in asked.items() if not asks] == ["linear.bias"]
    assert torch.equal(model.convolution.weight.grad, torch.ones_like(model.convolution.weight))
    assert all(p.grad is None for name, p in model.named_parameters() if name != "convolution.weight")
    assert found == measured()


def test_a_model_whose_every_answer_is_wrong_has_no_rate_of_success():
    class AlwaysTheLast(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            brightness = images.mean((1, 2, 3))
            return torch.stack([*(brightness * number for number in range(6)), brightness.detach() + 100], dim=1)

    # Of seven classes, no image has the last one.
    found = robustness(AlwaysTheLast(), batches(7, 6), NUM_CLASSES, NORMALIZATION, (ATTACK,))
    assert found.unchanged.accuracy == 0
    assert found.outcomes[0].success_rate is None
    assert found.outcomes[0].drop == 0


KINDS = ("quadratic", "learned-content", "vit-cifar", "san10-pairwise", "report-san-patchwise-hierarchical")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_can_be_attacked(name: str):
    data = Embedded(num_train=10, num_validation=0, num_test=6).load()
    torch.manual_seed(0)
    model = make_experiment(name, "tiny").model.build()
    attack = PGD(epsilon=0.05, step_size=0.02, num_steps=2)
    found = robustness(model, data.evaluation_batches("test", 6), 10, data.normalization, (attack,))
    assert found.outcomes[0].evaluation.loss > found.unchanged.loss


def test_five_classes_have_no_top_5():
    found = robustness(Small(5), batches(7, 5), 5, NORMALIZATION, (ROTATIONS[0], ATTACK))
    assert [outcome.top5_drop for outcome in found.outcomes] == [None, None]


def test_progress_counts_what_was_announced():
    steps: list[int] = []
    robustness(Small(), batches(7), NUM_CLASSES, NORMALIZATION, CHECKS, steps.append)
    assert sum(steps) == NUM_IMAGES * num_passes(CHECKS)


def test_a_model_of_one_shape_of_images_cannot_have_them_turned():
    model = nn.Sequential(nn.Flatten(2), nn.Linear(40, 7), nn.Flatten(), nn.Linear(21, NUM_CLASSES))
    position = nn.Parameter(torch.zeros(1, 3, 5, 8))

    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.position, self.model = position, model

        def forward(self, images: Tensor) -> Tensor:
            return self.model(images + self.position)

    message = "turning images of 5 x 8 gives 8 x 5, which the model cannot take: check it on square images"
    with pytest.raises(ValueError, match=message):
        measured(model=Placed(), checks=(ROTATIONS[0],))
    assert measured(model=Placed(), checks=(ROTATIONS[1], ROTATIONS[3], ATTACK)).unchanged.num_images == NUM_IMAGES


def test_a_mistake_of_the_model_itself_is_not_blamed_on_turning():
    class Broken(Small):
        def forward(self, images: Tensor) -> Tensor:
            if self.modes:
                raise RuntimeError("out of order")
            return super().forward(images)

    with pytest.raises(RuntimeError, match="out of order"):
        measured(model=Broken(), checks=(ROTATIONS[1],))


def test_a_model_of_other_classes_is_refused():
    with pytest.raises(ValueError, match="tells 5 classes apart, but the images have 7"):
        measured(model=Small(5))
