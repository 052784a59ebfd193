"""What a training computes and what it leaves in its folder."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headgrid.evaluation.accuracy import evaluate
from headgrid.training import (
    SGD,
    Constant,
    Cosine,
    Diverged,
    Interrupted,
    RunFolder,
    TrainingConfig,
    TrainingResult,
    WeightAverage,
    load_into,
    load_weights,
)
from headgrid.training import step as step_module

from .small import CONFIGS, EXPERIMENT, NUM_CLASSES, SmallBatches, SmallModel, train_small

PLAIN = CONFIGS["plain"]
SHORT = TrainingConfig(num_epochs=2, batch_size=8, optimizer=SGD(learning_rate=0.05))


def rows_without_time(folder: Path) -> list[dict]:
    return [
        {key: value for key, value in row.items() if key not in ("seconds", "images_per_second")}
        for row in RunFolder(folder).metrics()
    ]


def test_agrees_with_a_bare_loop(tmp_path: Path):
    """The same training written down in the plainest way, without dropout: same losses, same weights."""
    config = TrainingConfig(
        num_epochs=3,
        batch_size=8,
        optimizer=SGD(learning_rate=0.1, weight_decay=0.01),
        schedule=Cosine(warmup_steps=4),
        label_smoothing=0.1,
        gradient_clip=0.5,
    )
    batches = SmallBatches(50, 8)
    train_small(tmp_path, config, model=SmallModel(dropout=0.0), validation_batches=None)

    model = SmallModel(dropout=0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    step = 0
    for epoch in range(3):
        total = right = 0.0
        for images, labels in batches.epoch(epoch):
            optimizer.param_groups[0]["lr"] = 0.1 * config.schedule.rate_factor(step, 21, 7)
            optimizer.zero_grad()
            logits = model(images)
            others = (1 - F.one_hot(labels, logits.shape[1])) / (logits.shape[1] - 1)
            targets = 0.9 * F.one_hot(labels, logits.shape[1]) + 0.1 * others
            loss = F.cross_entropy(logits, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total += float(loss.detach()) * len(labels)
            right += int((logits.argmax(1) == labels).sum())
            step += 1
        row = RunFolder(tmp_path).metrics()[epoch]
        assert row["training_loss"] == pytest.approx(total / 50, rel=1e-5)
        assert row["training_accuracy"] == right / 50
        assert row["step"] == step
        assert row["learning_rate"] == optimizer.param_groups[0]["lr"]
    for name, tensor in load_weights(tmp_path).items():
        torch.testing.assert_close(tensor, model.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_it_learns_and_leaves_a_complete_folder(tmp_path: Path):
    result = train_small(tmp_path, replace(PLAIN, num_epochs=8))
    run = RunFolder(tmp_path)
    assert run.experiment() == EXPERIMENT
    rows = run.metrics()
    assert [row["epoch"] for row in rows] == list(range(1, 9))
    assert rows[-1]["training_loss"] < 0.8 * rows[0]["training_loss"]
    assert [row["epoch"] for row in run.centers()] == list(range(9))
    assert torch.equal(torch.tensor(run.centers()[0]["centers"]), SmallModel().centers.detach())
    assert torch.equal(torch.tensor(run.centers()[-1]["centers"]), load_weights(tmp_path, "last")["centers"])
    names = {path.name for path in run.checkpoints.iterdir()}
    assert {f"{name}.safetensors" for name in ("last", "best", "epoch-0002", "epoch-0008")} < names
    assert len(names) == 2 * 6
    assert [event["event"] for event in run.events()] == ["start", "finish"]
    assert json.loads(run.environment_file.read_text())["num_processes"] == 1
    stored = run.result()
    assert stored is not None
    assert stored["test_accuracy"] == result.test_accuracy
    assert stored["num_parameters"] == sum(p.numel() for p in SmallModel().parameters())
    assert stored["seconds"] > 0
    assert stored["images_per_second"] > 0
    assert run.events()[-1]["peak_memory_bytes"] > 2**20


def test_validation_selects_and_the_test_images_are_opened_once_at_the_end(tmp_path: Path):
    opened = []
    test = SmallBatches(30, 7, seed=2, augment=False)

    def open_test():
        opened.append(len(RunFolder(tmp_path).metrics()))
        return test

    model = SmallModel()
    result = train_small(tmp_path, PLAIN, model=model, test_batches=open_test)
    assert opened == [4]
    rows = RunFolder(tmp_path).metrics()
    best = max(row["validation_accuracy"] for row in rows)
    first_best = next(row["epoch"] for row in rows if row["validation_accuracy"] == best)
    assert (result.selected_by, result.selected_epoch) == ("validation accuracy", first_best)
    assert result.validation_accuracy == best
    assert all(torch.equal(t, model.state_dict()[name]) for name, t in load_weights(tmp_path, "best").items())
    assert result.test == evaluate(model, test, NUM_CLASSES)


def test_the_first_of_equally_good_epochs_is_selected(tmp_path: Path):
    """With a rate of almost nothing every epoch is as good as the first."""
    config = TrainingConfig(num_epochs=3, batch_size=8, optimizer=SGD(learning_rate=1e-12))
    result = train_small(tmp_path, config, norm=False)
    assert result.selected_epoch == 1


def test_without_validation_the_last_weights_are_selected(tmp_path: Path):
    result = train_small(tmp_path, SHORT, validation_batches=None)
    assert (result.selected_by, result.selected_epoch, result.validation_accuracy) == ("last epoch", 2, None)
    assert all(row["validation_accuracy"] is None for row in RunFolder(tmp_path).metrics())
    assert result.test_accuracy is not None
    assert not (tmp_path / "checkpoints/best.safetensors").exists()


def test_without_test_images_nothing_is_tested(tmp_path: Path):
    assert train_small(tmp_path, SHORT, test_batches=None).test_accuracy is None
    stored = RunFolder(tmp_path).result()
    assert stored is not None
    assert stored["test_accuracy"] is None


def test_evaluates_the_average_and_trains_the_weights(tmp_path: Path):
    config = replace(SHORT, average=WeightAverage(0.9))
    model = SmallModel()
    result = train_small(tmp_path, config, model=model)
    plain = tmp_path / "plain"
    train_small(plain, SHORT)
    assert [row["training_loss"] for row in RunFolder(tmp_path).metrics()] == [
        row["training_loss"] for row in RunFolder(plain).metrics()
    ]
    last, live = load_weights(tmp_path, "last"), load_weights(plain, "last")
    assert not torch.equal(last["head.weight"], live["head.weight"])
    assert not torch.equal(last["norm.running_var"], live["norm.running_var"])
    load_into(model, load_weights(tmp_path))
    validation = SmallBatches(31, 7, seed=1, augment=False)
    assert evaluate(model, validation, NUM_CLASSES).accuracy == result.validation_accuracy


def test_evaluate_every(tmp_path: Path):
    train_small(tmp_path, replace(PLAIN, num_epochs=5, evaluate_every=2))
    measured = [row["validation_accuracy"] is not None for row in RunFolder(tmp_path).metrics()]
    assert measured == [False, True, False, True, True]


def test_the_seed_decides(tmp_path: Path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_small(tmp_path / name, SHORT, seed=seed)
    assert rows_without_time(tmp_path / "a") == rows_without_time(tmp_path / "b")
    assert rows_without_time(tmp_path / "a") != rows_without_time(tmp_path / "c")


def test_every_step_has_its_own_dropout(monkeypatch: pytest.MonkeyPatch):
    draws = set()
    for seed, step, rank in ((0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)):
        step_module.seed_step(seed, step, rank, torch.device("cpu"))
        draws.add(float(torch.rand(())))
    assert len(draws) == 4


def test_two_threads_add_up_in_a_fixed_order():
    """Gradients of an indexed table differ from run to run on two threads, unless the order is fixed."""
    torch.manual_seed(0)
    table = torch.randn(31, 400, requires_grad=True)
    index = torch.randint(31, (256, 16))
    output_gradient = torch.randn(256, 16, 400)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with step_module.deterministic(torch.device("cpu")):
            found = [torch.autograd.grad(table[index], table, output_gradient)[0] for _ in range(10)]
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(gradient, found[0]) for gradient in found)
    assert not torch.are_deterministic_algorithms_enabled()


def test_bfloat16_trains_convolutions_and_norms(tmp_path: Path):
    dtypes = []
    model = SmallModel()
    model.head.register_forward_hook(lambda module, inputs, output: dtypes.append(output.dtype))
    train_small(tmp_path, replace(SHORT, precision="bfloat16"), model=model)
    assert set(dtypes) == {torch.bfloat16}
    assert {tensor.dtype for tensor in load_weights(tmp_path).values()} == {torch.float32, torch.int64}
    train_small(tmp_path / "full", SHORT)
    low, full = RunFolder(tmp_path).metrics(), RunFolder(tmp_path / "full").metrics()
    assert low[-1]["training_loss"] == pytest.approx(full[-1]["training_loss"], rel=0.05)
    assert low[-1]["training_loss"] != full[-1]["training_loss"]


class Poisoned(SmallBatches):
    """Images that are no numbers, in one batch."""

    def __init__(self, epoch: int, batch: int, **options) -> None:
        super().__init__(**options)
        self.place = (epoch, batch)

    def epoch(self, epoch: int, first_batch: int = 0):
        for number, (images, labels) in enumerate(super().epoch(epoch, first_batch), start=first_batch):
            yield (images * float("nan") if (epoch, number) == self.place else images), labels


@pytest.mark.parametrize("batch", [0, 3, 6])
def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path, batch: int):
    config = replace(SHORT, schedule=Constant(), save_minutes=0.0)
    with pytest.raises(Diverged) as caught:
        train_small(tmp_path, config, training_batches=Poisoned(1, batch))
    step = 7 + batch + 1
    assert str(caught.value).startswith(
        f"the training loss became nan or infinite at step {step} (epoch 2, learning rate 0.05); the last good "
        f"checkpoint is {tmp_path}/checkpoints/last.safetensors of step {step - 1}:"
    )
    assert (caught.value.step, caught.value.learning_rate) == (step, 0.05)
    assert all(tensor.isfinite().all() for tensor in load_weights(tmp_path, "last").values())
    assert RunFolder(tmp_path).events()[-1]["event"] == "diverge"
    assert [row["epoch"] for row in RunFolder(tmp_path).metrics()] == [1]


def test_weights_that_are_no_numbers_are_never_saved(tmp_path: Path):
    """The last step's loss is fine, its gradient is not: no later loss would tell."""

    class BadGradient(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x

        @staticmethod
        def backward(context, *gradients):
            return gradients[0] * float("inf")

    class Model(SmallModel):
        num_calls = 0

        def forward(self, images):
            logits = super().forward(images)
            if self.training:
                self.num_calls += 1
            return BadGradient.apply(logits) if self.num_calls == 14 else logits

    with pytest.raises(Diverged, match="a weight became nan or infinite at step 14"):
        train_small(tmp_path, SHORT, model=Model(), validation_batches=None)
    assert all(tensor.isfinite().all() for tensor in load_weights(tmp_path, "last").values())
    assert RunFolder(tmp_path).result() is None


def test_images_on_which_a_model_overflows_count_as_wrong_and_stop_nothing(tmp_path: Path):
    """Poisoned images stand for a model that overflows in eval mode, which no training step shows."""
    result = train_small(
        tmp_path, SHORT, validation_batches=Poisoned(0, 1), test_batches=lambda: Poisoned(0, 0, num_images=20)
    )
    run = RunFolder(tmp_path)
    assert [row["validation_loss"] for row in run.metrics()] == [None, None]
    assert [row["validation_accuracy"] < 1 for row in run.metrics()] == [True, True]
    overflows = [row for row in run.events() if row["event"] == "overflow"]
    assert [row["epoch"] for row in overflows] == [1, 2]
    assert {row["num_images"] for row in overflows} == {SmallBatches().batch_size}
    assert result.test is not None
    assert result.test.loss is None
    assert result.test.num_overflows == SmallBatches().batch_size
    assert TrainingResult.from_json(run.result()) == result


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_save_and_say_how_to_go_on(tmp_path: Path, stop: signal.Signals):
    class Pressed(SmallBatches):
        def epoch(self, epoch: int, first_batch: int = 0):
            for number, batch in enumerate(super().epoch(epoch, first_batch), start=first_batch):
                if (epoch, number) == (1, 3):
                    os.kill(os.getpid(), stop)
                yield batch

    hint = "Continue with: headgrid train small --run somewhere --resume"
    with pytest.raises(Interrupted) as caught:
        train_small(tmp_path, SHORT, training_batches=Pressed(), resume_hint=hint)
    assert str(caught.value) == f"stopped after step 10 of 14; everything is saved in {tmp_path}. {hint}"
    assert (caught.value.step, caught.value.folder) == (10, tmp_path)
    assert RunFolder(tmp_path).events()[-1]["event"] == "interrupt"
    assert torch.are_deterministic_algorithms_enabled() is False


def test_what_cannot_be_trained_is_refused_before_anything_is_written(tmp_path: Path):
    folder = tmp_path / "run"
    with pytest.raises(ValueError, match="the seed must not be negative"):
        train_small(folder, SHORT, seed=-1)
    with pytest.raises(ValueError, match="do not fill a batch"):
        train_small(folder, SHORT, training_batches=SmallBatches(0))
    with pytest.raises(ValueError, match="warm-up of 100 steps"):
        train_small(folder, replace(SHORT, schedule=Cosine(warmup_steps=100)))
    with pytest.raises(ValueError, match="without_decay names 'centres'"):
        train_small(folder, replace(SHORT, optimizer=SGD(without_decay=("centres",))))
    with pytest.raises(ValueError, match=r"label_smoothing 0\.9"):
        train_small(folder, replace(SHORT, label_smoothing=0.9))
    assert not folder.exists()


def test_batches_must_keep_their_promise(tmp_path: Path):
    class Short(SmallBatches):
        def epoch(self, epoch: int, first_batch: int = 0):
            yield next(super().epoch(epoch, first_batch))

    with pytest.raises(ValueError, match=r"gave 1 training batches, but len\(\) promised 7"):
        train_small(tmp_path, SHORT, training_batches=Short())


def test_a_model_is_trained_in_training_mode_and_ends_in_eval_mode(tmp_path: Path):
    modes = []
    model = SmallModel().eval()
    model.dropout.register_forward_hook(lambda module, inputs, output: modes.append(module.training))
    train_small(tmp_path, SHORT, model=model)
    epoch = [True] * 7 + [False] * 5
    assert modes == [*epoch, *epoch, *[False] * 5]
    assert not any(module.training for module in model.modules())


def test_a_model_that_begins_with_bad_weights_is_refused(tmp_path: Path):
    model = SmallModel()
    model.head.weight.data[0, 0] = float("nan")
    with pytest.raises(ValueError, match="begins with weights that are nan or infinite"):
        train_small(tmp_path, SHORT, model=model)


def test_gradients_of_frozen_parts_are_not_needed(tmp_path: Path):
    model = SmallModel()
    model.convolution.requires_grad_(False)
    before = model.convolution.weight.clone()
    train_small(tmp_path, SHORT, model=model)
    assert torch.equal(load_weights(tmp_path, "last")["convolution.weight"], before)
