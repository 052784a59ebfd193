import pytest
import torch
from torch import nn

from headgrid.training import WeightAverage
from headgrid.training.average import AveragedWeights

from .small import SmallModel


def test_follows_the_definition_for_weights_and_statistics():
    model = SmallModel()
    average = AveragedWeights(model, WeightAverage(0.5))
    expected = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for step in range(20):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += torch.randn_like(parameter)
        model.train()(torch.randn(4, 3, 6, 5))
        average.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        for name, tensor in model.state_dict().items():
            mean = decay * expected[name] + (1 - decay) * tensor
            expected[name] = mean if tensor.is_floating_point() else tensor.clone()
    for name, tensor in average.state.items():
        torch.testing.assert_close(tensor, expected[name])
    assert int(average.state["norm.num_batches_tracked"]) == 20
    assert not torch.equal(average.state["norm.running_mean"], model.norm.running_mean)


def test_the_model_carries_the_average_for_a_while():
    model = SmallModel()
    average = AveragedWeights(model, WeightAverage(0.5))
    with torch.no_grad():
        model.head.weight += 1
    live = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    mean = {name: tensor.clone() for name, tensor in average.state.items()}
    parameter = model.head.weight

    def fail() -> None:
        with average.in_place():
            assert model.head.weight is parameter
            assert all(torch.equal(tensor, mean[name]) for name, tensor in model.state_dict().items())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert all(torch.equal(tensor, live[name]) for name, tensor in model.state_dict().items())
    assert all(torch.equal(tensor, mean[name]) for name, tensor in average.state.items())


def test_shared_layers_are_averaged_once():
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer)
    average = AveragedWeights(model, WeightAverage(0.5))
    initial = layer.weight.detach().clone()
    with torch.no_grad():
        layer.weight += 1
    live = layer.weight.detach().clone()
    with average.in_place():
        assert torch.equal(layer.weight, initial)
        stored = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert torch.equal(layer.weight, live)
    average.update(100)
    average.load(stored)
    with average.in_place():
        assert torch.equal(layer.weight, initial)


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.5])
def test_impossible_decays_are_refused(decay: float):
    with pytest.raises(ValueError, match="decay must"):
        WeightAverage(decay)
