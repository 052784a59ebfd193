"""An experiment: everything that decides what a training run computes, as one value."""

from dataclasses import dataclass, field, replace
from typing import Literal

from headgrid.data import Cifar10, Cifar100, Embedded, ImageFolder
from headgrid.experiments.head_care import HeadCare
from headgrid.experiments.stored_weights import StoredWeights
from headgrid.models import (
    SAN,
    CompiledConfig,
    ConvertedConfig,
    FullyAttentional,
    FullyAttentionalConfig,
    HierarchicalSAN,
    HierarchicalSANConfig,
    ResNet,
    ResNetConfig,
    SANConfig,
    ViT,
    ViTConfig,
)
from headgrid.training.config import TrainingConfig

ModelConfig = FullyAttentionalConfig | ResNetConfig | SANConfig | HierarchicalSANConfig | ViTConfig
Model = FullyAttentional | ResNet | SAN | HierarchicalSAN | ViT
FileConfig = ModelConfig | ConvertedConfig | CompiledConfig
"""What a file of weights can hold: a model, or what `headgrid convert` and `headgrid compile` made of one."""

DataConfig = Cifar10 | Cifar100 | Embedded | ImageFolder

Size = Literal["paper", "laptop", "tiny"]
"""As published; the same kind of network for half an hour on two cores; the same within a minute."""


@dataclass(frozen=True)
class Experiment:
    """A model, the data it learns from, how it is trained, and the seed of everything random."""

    name: str
    """Name of the preset that the experiment comes from, or one of your own."""
    size: Size = field(default="paper", kw_only=True)
    """Which size of the preset this is; a name like the other, it changes nothing."""
    seed: int = field(default=0, kw_only=True)
    """Seed of the initial weights, of the order of the images, of augmentation and of dropout."""
    model: ModelConfig
    """The network."""
    data: DataConfig
    """Where the images come from."""
    training: TrainingConfig
    """How the network is trained."""
    heads: HeadCare = field(default_factory=HeadCare)
    """What is done about Gaussian heads that degenerate."""
    initial_weights: StoredWeights | None = None
    """The weights that the training begins with; without, random ones."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must not be negative, and below 2 ** 64, but is {self.seed}")

    @property
    def title(self) -> str:
        """A name for the run: preset, size and seed."""
        return f"{self.name}-{self.size}-seed{self.seed}"


def for_data(experiment: Experiment, data: DataConfig) -> Experiment:
    """The experiment on other images: the model gets their size, their channels and their classes."""
    model = replace(
        experiment.model,
        image_size=data.image_size,
        num_channels=data.num_channels,
        num_classes=data.num_classes,
    )
    return replace(experiment, data=data, model=model)
