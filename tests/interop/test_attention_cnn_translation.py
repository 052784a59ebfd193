"""What translation takes over besides the function, and what it refuses."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from attention_cnn_original import KINDS, Original
from torch import Tensor

from headgrid.attention import DropoutPerBatch, DropoutPerImage
from headgrid.interop.attention_cnn import translate, translate_resnet18
from headgrid.models import FullyAttentional, FullyAttentionalConfig, ResNet, ResNetConfig
from headgrid.scores import (
    ContentConfig,
    GeneralizedQuadraticConfig,
    LearnedPositionConfig,
    QuadraticConfig,
    QueryPositionConfig,
    RandomCenters,
)

ORIGINAL = Original("learned_content")


def translated(kind: str, **options: Any) -> FullyAttentionalConfig:
    original = Original(kind)
    model = translate(original.random_state(), original.config | options)
    assert isinstance(model, FullyAttentional)
    return model.config


@pytest.mark.parametrize(
    ("kind", "scores"),
    [
        ("quadratic", (QuadraticConfig(RandomCenters(2.0, 0.3)),)),
        ("quadratic_generalized", (GeneralizedQuadraticConfig(RandomCenters(2.0, 0.3)),)),
        ("learned", (LearnedPositionConfig(),)),
        ("learned_query", (QueryPositionConfig(),)),
        ("learned_content", (QueryPositionConfig(), ContentConfig())),
        ("learned_keys_content", (LearnedPositionConfig(), ContentConfig())),
    ],
)
def test_kinds_of_scores(kind: str, scores: tuple) -> None:
    assert translated(kind, gaussian_init_sigma_std=0.3).attention.scores == scores


def test_dropout_carries_over() -> None:
    options = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3}
    for kind in KINDS:
        config = translated(kind, **options)
        assert config.block.dropout == 0.2  # type: ignore[union-attr]
        per_batch = kind.startswith("quadratic")
        assert config.attention.dropout == (DropoutPerBatch(0.3) if per_batch else DropoutPerImage(0.3))


@pytest.mark.parametrize("kind", KINDS)
def test_the_config_builds_the_same_network(kind: str) -> None:
    original = Original(kind, heads=(2, 4, 1))
    model = translate(original.random_state(), original.config)
    again = model.config.build().double().eval()
    again.load_state_dict(model.state_dict())
    images = original.random_images(3, 2)
    torch.testing.assert_close(again(images), model(images))
    assert not model.training


def test_heads_after_pruning() -> None:
    pruned = Original("quadratic_generalized", heads=(2, 4, 1))
    config = translate(pruned.random_state(), pruned.config | {"num_attention_heads": 9}).config
    assert isinstance(config, FullyAttentionalConfig)
    assert config.heads_per_layer == (2, 4, 1)
    assert config.attention.num_heads == 9


def test_nothing_is_shared_and_nothing_drawn() -> None:
    state = ORIGINAL.random_state()
    copies = {name: value.clone() for name, value in state.items()}
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    model = translate(state, ORIGINAL.config)
    assert torch.equal(torch.rand(1), expected)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert all(torch.equal(state[name], copies[name]) for name in state)


def test_the_floating_point_type_is_kept() -> None:
    for dtype in (torch.float32, torch.float64):
        state = {name: value.to(dtype) for name, value in ORIGINAL.random_state().items()}
        assert {parameter.dtype for parameter in translate(state, ORIGINAL.config).parameters()} == {dtype}


def test_names_saved_under_data_parallel() -> None:
    state = {f"module.{name}": value for name, value in ORIGINAL.random_state().items()}
    images = ORIGINAL.random_images(2, 3)
    plain = translate(ORIGINAL.random_state(), ORIGINAL.config)
    assert torch.equal(translate(state, ORIGINAL.config)(images), plain(images))


def test_unused_options_are_left_alone() -> None:
    translated("learned", share_position_encoding=True, attention_gaussian_blur_trick=True, num_epochs="many")
    translated("quadratic", add_positional_encoding_to_input=True, use_attention_data=True, layer_norm_eps="1e-12")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("quadratic", {"attention_gaussian_blur_trick": True}, "attention_gaussian_blur_trick = True"),
        ("quadratic", {"pooling_use_resnet": True}, "pooling_use_resnet = True"),
        ("quadratic", {"model": "vgg11"}, "model = vgg11: only bert"),
        ("quadratic", {"use_learned_2d_encoding": True}, "chooses both of use_gaussian_attention"),
        ("quadratic", {"use_gaussian_attention": False}, "chooses neither of use_gaussian_attention"),
        ("quadratic", {"hidden_act": "tanh"}, "hidden_act = tanh: the original knows gelu, relu, swish"),
        ("quadratic", {"hidden_size": 8}, "hidden_size = 8, and by entry features_upscale.weight of the weights"),
        ("quadratic", {"hidden_size": "wide"}, "hidden_size = 'wide': expected a whole number"),
        ("quadratic", {"hidden_size": True}, "hidden_size = True: expected a whole number"),
        ("quadratic", {"use_gaussian_attention": "yes"}, "= 'yes': expected True or False"),
        ("quadratic", {"layer_norm_eps": "tiny"}, "layer_norm_eps = 'tiny': expected a number"),
        ("quadratic", {"num_hidden_layers": 3}, "num_hidden_layers = 3, and by entry encoder.layer.1"),
        ("quadratic", {"num_attention_heads": 2}, "num_attention_heads = 2, and by entry encoder.layer.0"),
        ("quadratic", {"intermediate_size": 6}, "intermediate_size = 6"),
        ("quadratic", {"pooling_concatenate_size": 1}, "pooling_concatenate_size = 1"),
        ("quadratic", {"attention_isotropic_gaussian": False}, "attention_spreads of the weights has the shape 3 "),
        ("quadratic_generalized", {"attention_isotropic_gaussian": True}, "attention_spreads .* 3 x 2 x 2 where"),
        ("learned", {"use_gaussian_attention": True, "use_learned_2d_encoding": False}, "quadratic attention"),
        ("learned", {"max_position_embeddings": 16}, "max_position_embeddings = 16"),
        ("learned", {"position_encoding_size": 5}, "position_encoding_size = 5"),
        ("learned", {"use_attention_data": True}, "no entry encoder.layer.0.attention.self.query.weight"),
        ("learned", {"query_positional_score": True}, "entry encoder.layer.0.attention.self.head_keys_col.weight"),
        ("learned_query", {"use_attention_data": True}, "no entry encoder.layer.0.attention.self.key.weight"),
        ("learned_content", {"use_attention_data": False}, "entry encoder.layer.0.attention.self.key.bias"),
    ],
)  # fmt: skip
def test_refused_configs(kind: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        translated(kind, **options)
    assert "\n" not in str(raised.value)


def reshaped(name: str, *shape: int) -> dict[str, Tensor]:
    return {name: torch.zeros(shape, dtype=torch.float64)}


SELF = "encoder.layer.1.attention.self"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (reshaped("pixelizer.bias", 3), "have an entry pixelizer.bias that this network has no place for"),
        (reshaped("encoder.layer.3.output.dense.bias", 6), r"hold the layers \[0, 1, 3\] under encoder.layer"),
        (reshaped(f"{SELF}.query.weight", 6, 12), "self.query.weight of the weights has the shape 6 x 12 where"),
        (reshaped(f"{SELF}.value.weight", 6, 13), "has 13 columns: expected a multiple of hidden_size = 6"),
        (reshaped(f"{SELF}.value.weight", 6, 0), "has the shape 6 x 0: expected hidden_size x heads"),
        (reshaped("features_upscale.weight", 6, 9), "takes 9 channels: expected 3 times a square"),
        (reshaped("features_upscale.weight", 6), "has the shape 6: expected hidden_size x channels of a cell"),
        (reshaped("classifier.bias"), "entry classifier.bias of the weights has the shape of a single number"),
        (reshaped("encoder.layer.0.attention.self.row_embeddings.weight", 8, 3), "has 8 rows: expected 2"),
    ],
)
def test_refused_weights(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        translate(ORIGINAL.random_state() | changes, ORIGINAL.config)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", [name for name in ORIGINAL.shapes() if "mask" not in name and "indices" not in name]
)
def test_every_entry_is_missed(name: str) -> None:
    state = ORIGINAL.random_state()
    del state[name]
    with pytest.raises(ValueError, match=f"no entry {name}"):
        translate(state, ORIGINAL.config)


def test_maps_larger_than_the_tables_are_refused() -> None:
    original = replace(ORIGINAL, positions=4)
    model = translate(original.random_state(), original.config)
    model(original.random_images(4, 3))
    with pytest.raises(ValueError, match="built for at most 4 columns and the map has 5"):
        model(original.random_images(4, 5))


def original_resnet_state(model: ResNet) -> dict[str, Tensor]:
    """Names of the original by the order of its modules, which is also the order of ours."""
    bottleneck = "narrow" in str(model)
    names = ["conv1.weight", *(f"bn1.{part}" for part in NORM)]
    for stage, num_blocks in enumerate(model.config.blocks_per_stage, start=1):
        for block in range(num_blocks):
            for convolution in range(1, 4 if bottleneck else 3):
                names.append(f"layer{stage}.{block}.conv{convolution}.weight")
                names += [f"layer{stage}.{block}.bn{convolution}.{part}" for part in NORM]
            if block == 0 and (stage > 1 or bottleneck):
                names.append(f"layer{stage}.{block}.shortcut.0.weight")
                names += [f"layer{stage}.{block}.shortcut.1.{part}" for part in NORM]
    names += ["linear.weight", "linear.bias"]
    return dict(zip(names, model.state_dict().values(), strict=True))


NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")


@pytest.mark.parametrize("name", ["resnet10", "resnet34", "resnet50"])
def test_residual_networks_of_other_depths(name: str) -> None:
    from headgrid.interop.attention_cnn.resnet import RESNETS

    torch.manual_seed(0)
    ours = replace(RESNETS[name], num_classes=3).build().eval()
    model = translate(original_resnet_state(ours), {"model": name, "dataset": "Cifar10"})
    images = torch.randn(1, 3, 32, 32)
    assert torch.equal(model(images), ours(images))
    assert model.config == ours.config


def test_residual_networks_that_do_not_fit() -> None:
    state = original_resnet_state(ResNetConfig(num_classes=7).build())
    assert translate_resnet18({f"module.{name}": value for name, value in state.items()}).config.num_classes == 7
    with pytest.raises(ValueError, match=r"no entry layer1\.2\.conv1\.weight"):
        translate(state, {"model": "resnet34"})
    with pytest.raises(ValueError, match=r"have an entry layer1\.1\.bn1\.bias that this network has no place for"):
        translate(state, {"model": "resnet10"})
    with pytest.raises(ValueError, match=r"no entry linear\.weight"):
        translate_resnet18({"conv1.weight": state["conv1.weight"]})
    with pytest.raises(ValueError, match=r"entry linear\.bias .* shape 6 where the network has 7"):
        translate_resnet18(state | {"linear.bias": torch.zeros(6)})
