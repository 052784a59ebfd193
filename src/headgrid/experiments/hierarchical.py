"""Hierarchical attention as a function from experiment to experiment: the twin of any preset with attention.

    hierarchical(make_experiment("quadratic"))                       # one block six times, the first key kept
    hierarchical(make_experiment("learned-content"), key=OwnKeys())  # one block six times, a key in each pass

Data and training stay as they are. What the twin is depends on the model:

- attention-only models and vision transformers: one block as often as the model has blocks;
- the report's SAN: the network that the report built in its place (`HierarchicalSANConfig`), which is not a SAN
  with fewer weights but keeps its number of pixels and channels throughout;
- other SANs: hierarchical attention within each stage, one block as often as the stage has blocks. Stages differ in
  channels and pixels, so that neither weights nor a key could serve two of them;
- a model that is hierarchical already: the same network with these weights and this key. Own weights and own keys
  make it plain: the four combinations compare within one network;
- ResNets: none, they have no attention.

On the command line: `--model.stack.kind hierarchical --model.stack.key.kind own-keys`.
"""

from dataclasses import replace

from headgrid.attention import PairwiseAttentionConfig, PatchwiseAttentionConfig
from headgrid.experiments.experiment import Experiment, ModelConfig
from headgrid.experiments.kinds import kind_name
from headgrid.models import HierarchicalSANConfig, ResNetConfig, SANConfig, report_san
from headgrid.stacks import Hierarchical, KeptKey, OwnKeys, OwnWeights, SharedWeights


def hierarchical(
    experiment: Experiment,
    *,
    weights: SharedWeights | OwnWeights | None = None,
    key: KeptKey | OwnKeys | None = None,
    name: str | None = None,
) -> Experiment:
    """The twin with shared weights and a kept key, as in the report, or with other ``weights`` or another ``key``.

    Its name says which, unless it is given one.
    """
    stack = Hierarchical(weights or SharedWeights(), key or KeptKey())
    name = name or f"{experiment.name}-{kind_name(type(stack.weights))}-{kind_name(type(stack.key))}"
    return replace(experiment, name=name, model=_twin(experiment, stack))


def _twin(experiment: Experiment, stack: Hierarchical) -> ModelConfig:
    match experiment.model:
        case ResNetConfig():
            raise ValueError(
                f"{experiment.name} has no hierarchical twin: a ResNet has no attention; choose a preset with "
                f"attention, such as learned-content"
            )
        case SANConfig() if experiment.size != "paper":
            raise ValueError(
                f"the hierarchical twin of {experiment.name} cannot be made in size {experiment.size}, in which "
                f"stages are cut off: make the twin of size paper, and its smaller size afterwards"
            )
        case SANConfig() as model if _is_of_report(model):
            return HierarchicalSANConfig(
                attention=_attention(model),
                stack=stack,
                block=model.block,
                image_size=model.image_size,
                num_channels=model.num_channels,
                num_classes=model.num_classes,
            )
        case model:
            return replace(model, stack=stack)


def _attention(model: SANConfig) -> PairwiseAttentionConfig | PatchwiseAttentionConfig:
    """That of the first stage; phi, psi and beta have no bias in the report's network."""
    footprint = replace(model.attention.footprint, size=model.footprints[0])
    return replace(model.attention, footprint=footprint, bias=False)


def _is_of_report(model: SANConfig) -> bool:
    """Whether it is the SAN of the report's table 3, whatever images it is for."""
    images = {field: getattr(model, field) for field in ("image_size", "num_channels", "num_classes")}
    return model == replace(report_san(model.attention), **images)
