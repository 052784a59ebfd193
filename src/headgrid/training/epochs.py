"""One epoch: its steps, and what is measured and kept after them."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from headgrid.evaluation.accuracy import Batches, Evaluation
from headgrid.training.files import Row
from headgrid.training.session import Session, Stopped
from headgrid.training.step import NewRows, renewal_seed
from headgrid.training.writers import Writer

Describe = Callable[[nn.Module], dict[str, Tensor]]
"""Arrays to keep of a model after every epoch, by name: the centers of its heads."""

Renew = Callable[[nn.Module, int, int], NewRows]
"""What of a model begins anew before an epoch, given the number of finished epochs and a seed: degenerate heads.

It must depend on nothing else, and a row must get the same value whatever other rows begin anew with it: a training
that is resumed before the first step of the epoch asks again.
"""


def train_epoch(session: Session, batches: Batches, renew: Renew | None = None) -> None:
    """The remaining steps of the current epoch."""
    state, learner = session.state, session.learner
    if renew is not None and state.batch == 0:
        _renew(session, renew)
    session.spend(training=False)
    learner.model.train()
    for images, labels in batches.epoch(state.epoch, state.batch):
        num_images = session.before_step(len(labels))
        learner.step(state.step, images, labels, num_images, session.learning_rate(state.step))
        state.batch += 1
        session.progress.pace.train(num_images)
        if session.processes.is_main and session.progress.is_due():
            _show(session)
    if state.batch != state.steps_per_epoch:
        raise ValueError(
            f"an epoch gave {state.batch} training batches, but len() promised {state.steps_per_epoch}: "
            "the batches must be as many in every epoch"
        )
    session.refuse_bad_weights()
    session.spend(training=True)


def _renew(session: Session, renew: Renew) -> None:
    epoch, learner = session.state.epoch, session.learner
    seed = renewal_seed(session.state.seed, epoch)
    new = session.processes.on_main(lambda: renew(learner.model, epoch, seed))
    if not new:
        return
    learner.set_rows(new)
    rows = {name: list(values) for name, values in new.items()}
    session.processes.on_main(lambda: session.run.add_event("renew", step=session.state.step, rows=rows))
    in_words = "; ".join(f"{name} {', '.join(map(str, numbers))}" for name, numbers in rows.items())
    session.progress.say(f"before epoch {epoch + 1}, rows of parameters begin anew: {in_words}")


def _show(session: Session) -> None:
    loss, num_correct, num_images = session.learner.sums()
    session.spend(training=True)
    seconds = session.state.epoch_training_seconds
    if num_images > 0 and seconds > 0:
        rate = num_images * session.processes.num_processes / seconds
        session.progress.training(session.state.epoch + 1, loss / num_images, num_correct / num_images, rate)


def described(session: Session, describe: Describe | None) -> Row | None:
    """The row of `centers.jsonl` for the model as it is."""
    arrays = {} if describe is None else describe(session.learner.model)
    if not arrays:
        return None
    return {name: array.detach().cpu().tolist() for name, array in arrays.items()}


def _tell_of_overflow(session: Session, epoch: int, evaluation: Evaluation) -> None:
    """Images on which weights that are finite give logits that are not do not stop a training.

    Attention without a softmax multiplies image by image, layer by layer: as long as the running statistics of its
    norms lag behind, a single image can overflow in eval mode. It counts as a wrong answer.
    """
    number = evaluation.num_overflows
    session.processes.on_main(
        lambda: session.run.add_event("overflow", step=session.state.step, epoch=epoch, num_images=number)
    )
    session.progress.say(
        f"epoch {epoch}: the model overflows in eval mode on {number} of {evaluation.num_images} validation "
        f"images; they count as wrong answers"
    )


def finish_epoch(
    session: Session,
    validation_batches: Batches | None,
    num_classes: int,
    describe: Describe | None,
    writers: Sequence[Writer],
) -> None:
    """Evaluate, write the row of the epoch, and save; saving `last` comes last and decides what has happened."""
    state, config = session.state, session.config
    epoch = state.epoch + 1
    evaluation = None
    try:
        with session.learner.evaluation_weights():
            if validation_batches is not None and config.evaluates(epoch):
                evaluation = session.evaluate(validation_batches, num_classes, "validation")
            centers = described(session, describe)
    except Stopped:
        session.stop()
    if evaluation is not None and evaluation.num_overflows:
        _tell_of_overflow(session, epoch, evaluation)
    session.spend(training=False)
    loss, num_correct, num_images = session.epoch_sums().sum(dim=0).tolist()
    row: Row = {
        "epoch": epoch,
        "step": state.step,
        "learning_rate": session.learning_rate(state.step - 1),
        "training_loss": loss / num_images,
        "training_accuracy": num_correct / num_images,
        "validation_loss": None if evaluation is None else evaluation.loss,
        "validation_accuracy": None if evaluation is None else evaluation.accuracy,
        "seconds": state.epoch_seconds,
        "images_per_second": num_images / max(1e-9, state.epoch_training_seconds),
    }

    names = ["last"]
    if config.keeps(epoch):
        names.insert(0, f"epoch-{epoch:04d}")
    if evaluation is not None and (state.best_accuracy is None or evaluation.accuracy > state.best_accuracy):
        state.best_epoch, state.best_accuracy = epoch, evaluation.accuracy
        names.insert(0, "best")
    state.finish_epoch(int(num_images))
    session.learner.set_sums()

    def write() -> None:
        session.run.add_metrics(row)
        if centers is not None:
            session.run.add_centers({"epoch": epoch, "step": state.step, **centers})
        for writer in writers:
            writer.write(row)

    session.processes.on_main(write)
    session.save(names)
    session.progress.finish_epoch(row)
