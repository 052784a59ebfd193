"""Train from Python: an experiment is a typed value, changed with dataclasses.replace.

python examples/02_train_from_python.py [RUN_FOLDER]
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import headgrid
from headgrid.experiments import make_experiment, run, shorten

experiment = shorten(make_experiment("quadratic-generalized", "tiny"), num_epochs=1)
experiment = replace(experiment, data=replace(experiment.data, num_train=500))

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "run"
    result = run(experiment, folder)
    print("after one epoch:", result.in_words())

    model = headgrid.load(folder)  # the weights that validation chose, in eval mode
    print("loaded", sum(parameter.numel() for parameter in model.parameters()), "parameters")
