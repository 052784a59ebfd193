"""Weight decay after other kinds of parts were chosen: what it spares may be gone with the old ones."""

from dataclasses import replace

import torch

from headgrid.experiments import Experiment, ModelConfig
from headgrid.training.optimizer import spares


def without_lost_parts(before: Experiment, after: Experiment) -> Experiment:
    """The experiment whose `without_decay` names nothing that went with a part of the model.

    A preset spares the centres and spreads of its heads. Learned positions have none, and the optimizer refuses
    names that match nothing, because most of them are misspelt. Names that the command line gives are left alone.
    """
    training = after.training
    names = training.optimizer.without_decay
    if not names or names != before.training.optimizer.without_decay or before.model == after.model:
        return after
    old, new = _parameters(before.model), _parameters(after.model)
    kept = tuple(name for name in names if spares(name, new) or not spares(name, old))
    return replace(after, training=replace(training, optimizer=replace(training.optimizer, without_decay=kept)))


def _parameters(model: ModelConfig) -> list[str]:
    """Names of the parameters, of a model that is built without memory for them."""
    with torch.device("meta"):
        return [name for name, _ in model.build().named_parameters()]
