"""Training that goes on from a trained model, as the paper retrains a pruned one (appendix A.1)."""

from dataclasses import replace
from pathlib import Path

from headgrid.experiments.create import config_of
from headgrid.experiments.experiment import Experiment, ModelConfig
from headgrid.experiments.sizes import shorten
from headgrid.experiments.stored_weights import StoredWeights
from headgrid.training.checkpoint import find_weights

RETRAINED = "-retrained"
"""What the name of an experiment that goes on ends with."""


def retraining(recipe: Experiment, trained: Path) -> Experiment:
    """The experiment that goes on with the model of a run, of one of its checkpoints or of a file.

    The paper retrains for 100 epochs at a rate of 0.01 what it has trained for 300 at 0.1. In proportion: a third
    of the recipe's epochs, at a tenth of its rate; everything else as there. A recipe that has been brought into
    proportion once stays.
    """
    model = config_of(trained)
    if not isinstance(model, ModelConfig):
        raise ValueError(
            f"{trained} holds what `headgrid convert` or `headgrid compile` has made of a model, which cannot be "
            f"trained: go on from the model itself"
        )
    weights = StoredWeights.of(find_weights(trained))
    if recipe.initial_weights is None:
        recipe = shorten(recipe, max(1, round(recipe.training.num_epochs / 3)))
        optimizer = recipe.training.optimizer
        optimizer = replace(optimizer, learning_rate=optimizer.learning_rate / 10)
        training = replace(recipe.training, optimizer=optimizer)
        recipe = replace(recipe, name=recipe.name + RETRAINED, training=training)
    return replace(recipe, model=model, initial_weights=weights)
