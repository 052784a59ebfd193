"""PGD against a version by hand: one image, one step, one pixel after the other, in numbers from 0 to 1."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headgrid.data import Normalization
from headgrid.data.random_stream import Purpose, random_stream
from headgrid.evaluation.adversarial import (
    PGD,
    ImageStart,
    LeastLikelyTarget,
    RandomStart,
    RandomTarget,
    Untargeted,
    from_pixels,
    frozen,
    to_pixels,
)

NORMALIZATION = Normalization((0.5, 0.4, 0.3), (0.2, 0.25, 0.3))
NUM_CLASSES = 4
GOALS = [Untargeted(), RandomTarget(), LeastLikelyTarget()]


def small_model() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5), nn.GELU(), nn.Flatten(), nn.Linear(60, NUM_CLASSES)
    )
    model[1].running_mean.normal_()
    return model.double().eval()


def of_pixels(model: nn.Module) -> Callable[[Tensor], Tensor]:
    return lambda pixels: model(from_pixels(pixels, NORMALIZATION))


def pixels_and_labels(num_images: int = 5) -> tuple[Tensor, Tensor]:
    """Images that are not square, a quarter of their pixels black or white."""
    random = torch.Generator().manual_seed(1)
    pixels = (1.5 * torch.rand(num_images, 3, 3, 4, dtype=torch.float64, generator=random) - 0.25).clamp(0, 1)
    return pixels, torch.randint(NUM_CLASSES, (num_images,), generator=random)


def by_hand(config: PGD, model: nn.Module, pixels: Tensor, labels: Tensor) -> tuple[Tensor, list[int]]:
    """The attacked images and the classes aimed at, from nothing but the model's logits for one image."""
    starts = random_stream(config.seed, Purpose.ATTACK, 0)
    targets = random_stream(config.seed, Purpose.ATTACK, 1)
    attacked, aims = [], []
    for image, label in zip(pixels, labels.tolist(), strict=True):
        logits = model(normalized(image))[0].tolist()
        wrong = [one for one in range(NUM_CLASSES) if one != label]
        match config.goal:
            case Untargeted():
                aim = label
            case RandomTarget():
                step = int(torch.randint(1, NUM_CLASSES, (), generator=targets))
                aim = (label + step) % NUM_CLASSES
            case LeastLikelyTarget():
                aim = min(wrong, key=lambda one: logits[one])
        uphill = config.goal == Untargeted()
        now = image.flatten().tolist()
        if isinstance(config.start, RandomStart):
            draws = torch.rand(image.numel(), generator=starts, dtype=torch.float64).tolist()
            now = [pixel + config.epsilon * (2 * draw - 1) for pixel, draw in zip(now, draws, strict=True)]
        now = projected(now, image.flatten().tolist(), config.epsilon)
        for _ in range(config.num_steps):
            seen = normalized(torch.tensor(now, dtype=torch.float64).view_as(image)).requires_grad_()
            logits_now = model(seen)[0]
            loss = logits_now.exp().sum().log() - logits_now[aim]
            slopes = torch.autograd.grad(loss, seen)[0].flatten().tolist()
            moved = [
                pixel + (config.step_size if (slope > 0) == uphill else -config.step_size)
                for pixel, slope in zip(now, slopes, strict=True)
            ]
            now = projected(moved, image.flatten().tolist(), config.epsilon)
        attacked.append(torch.tensor(now, dtype=torch.float64).view_as(image))
        aims.append(aim)
    return torch.stack(attacked), aims


def normalized(image: Tensor) -> Tensor:
    channels = zip(image, NORMALIZATION.mean, NORMALIZATION.std, strict=True)
    return torch.stack([(channel - mean) / std for channel, mean, std in channels])[None]


def projected(now: list[float], image: list[float], epsilon: float) -> list[float]:
    boxed = [min(max(pixel, own - epsilon), own + epsilon) for pixel, own in zip(now, image, strict=True)]
    return [min(max(pixel, 0.0), 1.0) for pixel in boxed]


def attacked(
    config: PGD, model: nn.Module, pixels: Tensor, labels: Tensor, batch_size: int
) -> tuple[Tensor, list[int]]:
    attack, parts, aims = config.begin(), [], []
    for images, classes in zip(pixels.split(batch_size), labels.split(batch_size), strict=True):
        aim = attack.aims(of_pixels(model)(images), classes)
        parts.append(images + attack.perturbation(of_pixels(model), images, aim))
        aims += aim.tolist()
    return torch.cat(parts), aims


@pytest.mark.parametrize("start", [RandomStart(), ImageStart()], ids=lambda start: type(start).__name__)
@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_agrees_with_the_version_by_hand(goal, start, batch_size):
    """Steps that leave the ball of epsilon, and pixels that would leave the range from 0 to 1."""
    config = PGD(goal, epsilon=0.1, step_size=0.04, num_steps=4, start=start, seed=3)
    model, (pixels, labels) = small_model(), pixels_and_labels()
    expected, expected_aims = by_hand(config, model, pixels, labels)
    found, aims = attacked(config, model, pixels, labels, batch_size)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert aims == expected_aims
    assert (found != pixels).any(dim=(1, 2, 3)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_box_is_kept_exactly(dtype):
    """Random pixels, so that their sums round; a model that pulls everything in one direction."""
    pixels = torch.rand(64, 3, 8, 9).to(dtype)
    pixels[0], pixels[1] = 0, 1
    for sign in (1, -1):
        config = PGD(epsilon=8 / 255, step_size=1 / 255, num_steps=20)
        change = config.begin().perturbation(
            lambda images, sign=sign: torch.stack([sign * images.float().mean((1, 2, 3)), torch.zeros(64)], 1),
            pixels,
            torch.ones(64, dtype=torch.int64),
        )
        epsilon = torch.tensor(8 / 255).to(dtype)
        assert change.abs().max() <= epsilon
        assert 0 <= (pixels + change).min() <= (pixels + change).max() <= 1
        reached = epsilon.expand_as(pixels).minimum(1 - pixels if sign > 0 else pixels)
        torch.testing.assert_close(sign * change, reached, rtol=0, atol=0)


def test_a_linear_model_is_fooled_as_far_as_it_can_be():
    """Of two classes with logits (0, w x), the worst image within epsilon is x - epsilon sign(w), for class 1."""
    random = torch.Generator().manual_seed(0)
    weights = torch.randn(24, generator=random, dtype=torch.float64)
    pixels = 0.3 + 0.4 * torch.rand(6, 1, 4, 6, generator=random, dtype=torch.float64)

    def model(images: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(images)).double(), images.flatten(1) @ weights], dim=1)

    for goal, label in ((Untargeted(), 1), (RandomTarget(), 1), (LeastLikelyTarget(), 1)):
        attack = PGD(goal, epsilon=0.1, step_size=0.03, num_steps=10).begin()
        aims = attack.aims(model(pixels), torch.full((6,), label))
        change = attack.perturbation(model, pixels, aims)
        worst = -0.1 * weights.sign().view(1, 4, 6)
        torch.testing.assert_close(change, worst.expand_as(pixels), rtol=0, atol=1e-12)


def test_a_seed_says_what_is_random():
    model, (pixels, labels) = small_model(), pixels_and_labels()
    first, again, other = (
        attacked(PGD(RandomTarget(), num_steps=2, seed=seed), model, pixels, labels, 5) for seed in (0, 0, 1)
    )
    torch.testing.assert_close(first[0], again[0], rtol=0, atol=0)
    assert first[1] == again[1]
    assert not torch.equal(first[0], other[0])
    state = torch.get_rng_state()
    attacked(PGD(num_steps=1), model, pixels, labels, 2)
    assert torch.equal(torch.get_rng_state(), state)


def test_random_targets_are_all_wrong_classes_alike():
    labels = torch.arange(4).repeat(3000)
    aims = PGD(RandomTarget()).begin().aims(torch.zeros(12000, 4), labels)
    counts = torch.zeros(4, 4).index_put_((labels, aims), torch.ones(12000), accumulate=True)
    assert counts.diagonal().tolist() == [0, 0, 0, 0]
    off = counts[~torch.eye(4, dtype=torch.bool)]
    assert (off - 1000).abs().max() < 5 * math.sqrt(1000 * 2 / 3)


def test_the_least_likely_wrong_class():
    logits = torch.tensor([[0.0, 1.0, 2.0], [-1.0, 0.0, 5.0], [3.0, -2.0, 1.0]])
    aims = PGD(LeastLikelyTarget()).begin().aims(logits, torch.tensor([0, 2, 1]))
    assert aims.tolist() == [1, 0, 2]


def test_nothing_but_the_images_gets_a_gradient():
    model, (pixels, labels) = small_model(), pixels_and_labels()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    model[4].bias.requires_grad_(False)
    asked = [parameter.requires_grad for parameter in model.parameters()]
    with frozen(model), torch.no_grad():
        assert not any(parameter.requires_grad for parameter in model.parameters())
        attacked(PGD(num_steps=2), model, pixels, labels, 5)
    assert [parameter.requires_grad for parameter in model.parameters()] == asked
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight))
    assert all(parameter.grad is None for parameter in list(model.parameters())[1:])


def test_a_model_without_gradients_is_named():
    pixels, labels = pixels_and_labels()
    step = nn.Sequential(nn.Flatten(), nn.Linear(36, NUM_CLASSES)).double()

    def model(images: Tensor) -> Tensor:
        with torch.no_grad():
            return step(images)

    with pytest.raises(ValueError, match="no gradient with respect to its images"):
        PGD().begin().perturbation(model, pixels, labels)


def test_where_a_model_overflows_an_image_stays_in_its_box():
    pixels, labels = pixels_and_labels()
    model = small_model()

    def overflowing(images: Tensor) -> Tensor:
        return model(images) * torch.tensor([1, torch.inf, 1, torch.inf, 1]).double()[:, None]

    config = PGD(epsilon=0.1, step_size=0.05, num_steps=3)
    change = config.begin().perturbation(overflowing, pixels, labels)
    expected = config.begin().perturbation(model, pixels, labels)
    assert change.isfinite().all()
    assert change.abs().max() <= 0.1
    torch.testing.assert_close(change[::2], expected[::2])


def test_pixels_and_back():
    pixels = torch.rand(2, 3, 4, 5, dtype=torch.float64)
    images = from_pixels(pixels, NORMALIZATION)
    expected = torch.stack([normalized(image)[0] for image in pixels])
    torch.testing.assert_close(images, expected)
    torch.testing.assert_close(to_pixels(images, NORMALIZATION), pixels)
    with pytest.raises(ValueError, match="normalization has 3 channels and the images have 1"):
        from_pixels(pixels[:, :1], NORMALIZATION)


def test_every_byte_survives_normalisation():
    """What the data sets normalised in float32 comes back as the byte it was, and never outside of 0 to 1."""
    images = torch.arange(256).to(torch.uint8).expand(1, 3, 4, -1)
    normalization = Normalization((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
    pixels = to_pixels(normalization.apply(images), normalization)
    assert 0 <= pixels.min() <= pixels.max() <= 1
    torch.testing.assert_close(255 * pixels, images.float(), rtol=0, atol=1e-4)


def test_the_loss_of_the_class_aimed_at_moves_the_right_way():
    model, (pixels, labels) = small_model(), pixels_and_labels()
    for goal in GOALS:
        attack = PGD(goal, epsilon=0.05, step_size=0.01, num_steps=10).begin()
        aims = attack.aims(of_pixels(model)(pixels), labels)
        before = F.cross_entropy(of_pixels(model)(pixels), aims, reduction="none")
        changed = pixels + attack.perturbation(of_pixels(model), pixels, aims)
        after = F.cross_entropy(of_pixels(model)(changed), aims, reduction="none")
        assert (goal.sign * (after - before) > 0).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": -0.1}, "epsilon is a change of pixels from 0 to 1, so it cannot be -0.1"),
        ({"epsilon": 8.0}, "it cannot be 8.0"),
        ({"step_size": 0.0}, r"step_size must be from \(0, 1\], not 0.0"),
        ({"num_steps": 0}, "the number of its iterations cannot be 0"),
    ],
)
def test_an_attack_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PGD(**wrong)


def test_a_single_class_cannot_be_attacked():
    with pytest.raises(ValueError, match="a single class"):
        PGD().begin().aims(torch.zeros(2, 1), torch.zeros(2, dtype=torch.int64))
