"""Plain vision transformers (Dosovitskiy et al. 2021; the two small ones Touvron et al. 2021), beside the report's.

The networks are the known ones. The recipe is a plain one of ours, without the mixed and strongly distorted images
that published accuracies rest on, so no published number stands beside it. Weights trained elsewhere come in with
`headgrid import timm-vit`.
"""

from headgrid.attention import TokenAttentionConfig
from headgrid.data import Cifar10
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.preset import Preset
from headgrid.experiments.san import IMAGENET
from headgrid.models import PatchStemConfig, ViTConfig
from headgrid.stacks import PreNormBlockConfig
from headgrid.training.config import TrainingConfig
from headgrid.training.optimizer import AdamW
from headgrid.training.schedule import Cosine

DOSOVITSKIY, TOUVRON = "Dosovitskiy et al. 2021", "Touvron et al. 2021"

WITHOUT_DECAY = ("bias", "attention_norm", "feed_forward_norm", "token_norm")
"""Only matrices and tables are pulled towards zero."""


def vit_tiny() -> Experiment:
    """`headgrid train vit-tiny`

    Paper: no number for this recipe. Ours: not run in size paper yet.

    Three heads of 64 channels, patches of 16 x 16 pixels.
    """
    return _on_imagenet("vit-tiny", num_heads=3)


def vit_small() -> Experiment:
    """`headgrid train vit-small`

    Paper: no number for this recipe. Ours: not run in size paper yet.

    Six heads of 64 channels, patches of 16 x 16 pixels.
    """
    return _on_imagenet("vit-small", num_heads=6)


def vit_base() -> Experiment:
    """`headgrid train vit-base`

    Paper: no number for this recipe. Ours: not run in size paper yet.

    Twelve heads of 64 channels, patches of 16 x 16 pixels.
    """
    return _on_imagenet("vit-base", num_heads=12)


def vit_cifar() -> Experiment:
    """`headgrid train vit-cifar`

    Paper: no number, it is a network of ours. Ours: not run in size paper yet.

    `vit-tiny` for small images: patches of 4 x 4 pixels, 64 of them. It is attention and little else, where the
    report's ViT has half a ResNet stage in front.
    """
    return Experiment(
        name="vit-cifar",
        model=_vit(num_heads=3, patch_size=4, image_size=(32, 32), num_classes=10),
        data=Cifar10(),
        training=TrainingConfig(
            num_epochs=300,
            batch_size=100,
            optimizer=AdamW(learning_rate=5e-4, weight_decay=0.05, without_decay=WITHOUT_DECAY),
            schedule=Cosine(warmup_fraction=0.05),
        ),
    )


def _vit(num_heads: int, patch_size: int, image_size: tuple[int, int], num_classes: int) -> ViTConfig:
    """Twelve layers; heads of 64 channels, and a feed-forward part four times as wide as a token."""
    dim = 64 * num_heads
    return ViTConfig(
        dim=dim,
        num_layers=12,
        stem=PatchStemConfig(patch_size),
        attention=TokenAttentionConfig(num_heads),
        block=PreNormBlockConfig(hidden_dim=4 * dim),
        image_size=image_size,
        num_classes=num_classes,
    )


def _on_imagenet(name: str, num_heads: int) -> Experiment:
    return Experiment(
        name=name,
        model=_vit(num_heads, patch_size=16, image_size=IMAGENET.image_size, num_classes=1000),
        data=IMAGENET,
        training=TrainingConfig(
            num_epochs=300,
            batch_size=1024,
            optimizer=AdamW(learning_rate=1e-3, weight_decay=0.05, without_decay=WITHOUT_DECAY),
            schedule=Cosine(warmup_fraction=0.05),
            gradient_clip=1.0,
        ),
    )


PRESETS = (
    Preset(vit_tiny, f"{TOUVRON}, the network", None, "class token, 3 heads", "ImageNet"),
    Preset(vit_small, f"{TOUVRON}, the network", None, "class token, 6 heads", "ImageNet"),
    Preset(vit_base, f"{DOSOVITSKIY}, the network", None, "class token, 12 heads", "ImageNet"),
    Preset(vit_cifar, "headgrid", None, "vit-tiny for small images"),
)
