import json

import torch

from headgrid.evaluation.accuracy import Evaluation
from headgrid.training import TrainingResult
from headgrid.training.result import peak_memory

RESULT = TrainingResult(
    selected_by="validation accuracy",
    selected_epoch=7,
    validation_accuracy=0.5,
    test=Evaluation(10, 0.4, None, 1.25, (0.5, None, 1.0)),
    num_epochs=9,
    num_steps=90,
    num_parameters=1234,
    num_processes=1,
    seed=0,
    seconds=12.5,
    images_per_second=100.0,
)


def test_comes_back_from_its_file():
    stored = json.loads(json.dumps(RESULT.to_json()))
    assert stored["test_accuracy"] == 0.4
    assert TrainingResult.from_json(stored) == RESULT


def test_in_words():
    assert RESULT.in_words() == ("test accuracy 40.00%, validation 50.00% (epoch 7 of 9, by validation accuracy)")


def test_memory_is_that_of_the_process():
    before = peak_memory(torch.device("cpu"))
    block = torch.ones(2**26)
    after = peak_memory(torch.device("cpu"))
    assert before is not None
    assert after is not None
    assert after >= 2**28
    assert after >= before
    del block
