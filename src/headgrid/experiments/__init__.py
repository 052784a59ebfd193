"""Presets, and experiments made from them: complete, typed values that say everything a run computes."""

from headgrid.experiments.ablation import Ablation, AblationRow, Published
from headgrid.experiments.create import config_of, create, experiment_of, load, save_model
from headgrid.experiments.experiment import DataConfig, Experiment, Model, ModelConfig, Size, for_data
from headgrid.experiments.head_care import HeadCare
from headgrid.experiments.hierarchical import hierarchical
from headgrid.experiments.preset import Preset
from headgrid.experiments.presets import ABLATIONS, ALL_PRESETS, PRESETS, find_preset, make_experiment
from headgrid.experiments.retraining import retraining
from headgrid.experiments.run import check_fits, initial_model, run
from headgrid.experiments.serialization import experiment_from_yaml, experiment_to_yaml, read_experiment
from headgrid.experiments.sizes import laptop, shorten, tiny
from headgrid.experiments.stored_weights import StoredWeights

__all__ = [
    "ABLATIONS",
    "ALL_PRESETS",
    "PRESETS",
    "Ablation",
    "AblationRow",
    "DataConfig",
    "Experiment",
    "HeadCare",
    "Model",
    "ModelConfig",
    "Preset",
    "Published",
    "Size",
    "StoredWeights",
    "check_fits",
    "config_of",
    "create",
    "experiment_from_yaml",
    "experiment_of",
    "experiment_to_yaml",
    "find_preset",
    "for_data",
    "hierarchical",
    "initial_model",
    "laptop",
    "load",
    "make_experiment",
    "read_experiment",
    "retraining",
    "run",
    "save_model",
    "shorten",
    "tiny",
]
