"""The experiment of `headgrid demo`: a quadratic model that learns the embedded images within two minutes."""

from dataclasses import replace

from headgrid.data import Embedded
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.presets import make_experiment
from headgrid.experiments.sizes import shorten
from headgrid.models import FullyAttentionalConfig
from headgrid.training.schedule import Cosine

NUM_EPOCHS = 12


def demo() -> Experiment:
    """The tiny quadratic model with smaller cells, so that its heads move on a finer grid, trained for longer."""
    experiment = shorten(make_experiment("quadratic", "tiny"), NUM_EPOCHS)
    training = experiment.training
    assert isinstance(experiment.model, FullyAttentionalConfig)
    return replace(
        experiment,
        name="demo",
        model=replace(experiment.model, pixel_concatenation=2),
        # Small batches make many steps of few images: the heads travel with the steps. At the paper's rate of 0.1
        # some runs of such small batches never start to learn.
        training=replace(
            training,
            batch_size=25,
            optimizer=replace(training.optimizer, learning_rate=0.05),
            schedule=Cosine(warmup_fraction=0.1),
        ),
        data=Embedded(num_train=2500, num_validation=500, num_test=1000),
    )
