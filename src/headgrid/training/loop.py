"""The training of any model: steps, evaluations, checkpoints, and one look at the test images at the end.

`train` is the whole of it. What it computes depends on the model, the batches, the configuration and the seed only;
a training that was killed at any moment and is resumed computes the same, bit by bit on a CPU. The validation
images select the weights. The test images are opened once, after the last epoch, for the selected weights.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import nn

from headgrid.evaluation.accuracy import Batches
from headgrid.training.checkpoint import Checkpoint, load_weights
from headgrid.training.config import TrainingConfig
from headgrid.training.distributed import Processes
from headgrid.training.environment import describe_environment
from headgrid.training.epochs import Describe, Renew, described, finish_epoch, train_epoch
from headgrid.training.progress import Pace, Progress
from headgrid.training.result import TrainingResult, peak_memory
from headgrid.training.run_folder import RunFolder
from headgrid.training.session import Session, Stopped
from headgrid.training.state import TrainingState
from headgrid.training.step import Learner, Penalty, deterministic, load_into, smoothing_over_all
from headgrid.training.stops import Diverged, Interrupted, stop_request
from headgrid.training.writers import Writer


def train(
    model: nn.Module,
    training_batches: Batches,
    validation_batches: Batches | None,
    config: TrainingConfig,
    folder: Path,
    *,
    experiment: str,
    num_classes: int,
    seed: int,
    device: torch.device,
    resume: bool = False,
    compile: bool = False,
    test_batches: Callable[[], Batches] | None = None,
    describe: Describe | None = None,
    penalty: Penalty | None = None,
    renew: Renew | None = None,
    initial_weights: Path | None = None,
    writers: Sequence[Writer] = (),
    progress: Progress | None = None,
    processes: Processes | None = None,
    resume_hint: str = "Train into the same folder with resume to go on.",
) -> TrainingResult:
    """Train a model into a run folder; at the end it carries the selected weights and is in eval mode.

    `experiment` is the text of `experiment.yaml`; a run is resumed only with the same experiment. With `resume` a
    run goes on where its last checkpoint stands, begins where there is none, and a finished one gives its stored
    result.

    `penalty` is added to the loss, whose reported values do not contain it; `renew` is asked before every epoch
    what of the model begins anew. The run keeps a copy of the file `initial_weights`, which the model was given its
    weights from.

    Raises `Interrupted` when somebody stops the training (its message ends with `resume_hint`), `Diverged` when a
    loss is not finite any more, and `ValueError` for what cannot be trained.
    """
    processes = processes or Processes()
    progress = progress if progress is not None and processes.is_main else Progress()
    _check(model, training_batches, config, seed, num_classes)
    run = RunFolder(folder)
    with ExitStack() as stack:
        request = stack.enter_context(stop_request(processes))
        checkpoint = processes.on_main(lambda: stack.enter_context(run.opened(experiment, resume)))
        stored = processes.on_main(run.result)
        if stored is not None:
            result = TrainingResult.from_json(stored)
            progress.say(f"{folder} is finished already: {result.in_words()}")
            return result
        stack.enter_context(deterministic(device))
        learner = Learner(model, config, seed, device, processes, compile, penalty)
        state = TrainingState(seed, processes.num_processes, len(training_batches))
        session = Session(run, config, learner, state, processes, request, progress, resume_hint)
        stack.callback(progress.close)
        try:
            _begin(session, checkpoint, describe, initial_weights)
            progress.start(_pace(session, training_batches, validation_batches), config.num_epochs)

            def start_writers() -> None:
                for writer in writers:
                    stack.callback(writer.close)
                    writer.start(folder, experiment, session.state.step)

            processes.on_main(start_writers)
            while session.state.epoch < config.num_epochs:
                train_epoch(session, training_batches, renew)
                finish_epoch(session, validation_batches, num_classes, describe, writers)
            return _finish(session, test_batches, num_classes)
        except (Interrupted, Diverged) as end:
            event = "interrupt" if isinstance(end, Interrupted) else "diverge"
            processes.on_main(lambda: run.add_event(event, step=end.step, message=str(end)))
            raise


def _check(
    model: nn.Module, training_batches: Batches, config: TrainingConfig, seed: int, num_classes: int
) -> None:
    """What cannot be trained is refused here, before anything is written."""
    if seed < 0:
        raise ValueError(f"the seed must not be negative, but is {seed}")
    if len(training_batches) == 0:
        raise ValueError(
            f"the training images ({training_batches.num_images}) do not fill a batch: use a smaller batch_size"
        )
    config.optimizer.build(model)  # `without_decay` may name nothing
    smoothing_over_all(config.label_smoothing, num_classes)
    # A warm-up may not fit into the training.
    config.schedule.rate_factor(0, config.num_epochs * len(training_batches), len(training_batches))


def _begin(
    session: Session, checkpoint: Checkpoint | None, describe: Describe | None, initial_weights: Path | None
) -> None:
    """Take up the checkpoint; or note how the training starts, and save it before its first step."""
    run, processes, learner = session.run, session.processes, session.learner
    environment = describe_environment(learner.device) | {"num_processes": processes.num_processes}
    if checkpoint is not None:
        session.state = session.state.go_on(checkpoint.state)
        learner.load(checkpoint)
        learner.set_sums(*session.state.sums[processes.rank])
        session.saved_step = session.state.step
        processes.on_main(lambda: run.add_event("resume", step=session.state.step, environment=environment))
        session.progress.say(f"resuming {run.path} at step {session.state.step} of {session.num_steps}")
        return
    if not learner.weights_are_finite():
        raise ValueError("the model begins with weights that are nan or infinite: check how they are initialised")
    centers = described(session, describe)

    def write() -> None:
        if initial_weights is not None:
            run.keep_initial_weights(initial_weights)
        run.write_environment(environment)
        run.add_event("start", step=0)
        if centers is not None:
            run.add_centers({"epoch": 0, "step": 0, **centers})

    processes.on_main(write)
    session.save(["last"])
    num_parameters = sum(parameter.numel() for parameter in learner.model.parameters())
    session.progress.say(
        f"training {num_parameters:,} parameters for {session.num_steps:,} steps on {learner.device}, "
        f"into {run.path}"
    )


def _pace(session: Session, training_batches: Batches, validation_batches: Batches | None) -> Pace:
    config, state = session.config, session.state
    num_validation = 0 if validation_batches is None else validation_batches.num_images
    evaluated = [config.evaluates(epoch) for epoch in range(1, config.num_epochs + 1)]
    pace = Pace(training_batches.num_images * config.num_epochs, num_validation * sum(evaluated))
    seen = int(sum(images for _, _, images in state.sums))
    pace.skip(training_batches.num_images * state.epoch + seen, num_validation * sum(evaluated[: state.epoch]))
    return pace


def _finish(session: Session, test_batches: Callable[[], Batches] | None, num_classes: int) -> TrainingResult:
    """Take the selected weights, look at the test images, and write the result."""
    state, run, learner = session.state, session.run, session.learner
    selected = "last" if state.best_epoch is None else "best"
    load_into(learner.model, session.processes.on_main(lambda: load_weights(run.path, selected)))
    learner.model.eval()
    try:
        test = None if test_batches is None else session.evaluate(test_batches(), num_classes, "test images")
    except Stopped:
        session.interrupt()
    result = TrainingResult(
        selected_by="last epoch" if state.best_epoch is None else "validation accuracy",
        selected_epoch=state.best_epoch or state.epoch,
        validation_accuracy=state.best_accuracy,
        test=test,
        num_epochs=state.epoch,
        num_steps=state.step,
        num_parameters=sum(parameter.numel() for parameter in learner.model.parameters()),
        num_processes=state.num_processes,
        seed=state.seed,
        seconds=state.seconds,
        images_per_second=state.images_per_second,
    )
    session.processes.on_main(lambda: run.write_result(result.to_json()))
    memory = peak_memory(learner.device)
    session.processes.on_main(lambda: run.add_event("finish", step=state.step, peak_memory_bytes=memory))
    return result
