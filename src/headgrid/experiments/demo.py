"""The experiment of `headgrid demo`: a quadratic model that learns the embedded images within two minutes."""

from dataclasses import replace

from headgrid.data import Embedded
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.presets import make_experiment
from headgrid.experiments.sizes import shorten
from headgrid.models import FullyAttentionalConfig

NUM_EPOCHS = 12


def demo() -> Experiment:
    """The tiny quadratic model with smaller cells, so that its heads move on a finer grid, trained for longer."""
    experiment = shorten(make_experiment("quadratic", "tiny"), NUM_EPOCHS)
    assert isinstance(experiment.model, FullyAttentionalConfig)
    return replace(
        experiment,
        name="demo",
        model=replace(experiment.model, pixel_concatenation=2),
        # Small batches make many steps of few images: the heads travel with the steps.
        training=replace(experiment.training, batch_size=25),
        data=Embedded(num_train=2500, num_validation=500, num_test=1000),
    )
