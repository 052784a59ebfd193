"""Models of other projects by name, for measuring them beside ours; nothing is installed or changed for it.

timm:vit_tiny_patch16_224                 published weights, from the cache or downloaded
torchvision:resnet18,weights=random       new weights, asked for in so many words
timm:resnet18,num_classes=6,weights=scenes.safetensors
hf:FOLDER                                 a folder that transformers saved an image classifier into
module:package.make_model,depth=3         any function or class that gives an nn.Module
"""

from headgrid.interop.foreign_model.foreign_model import ForeignModel, UnwrappedLogits
from headgrid.interop.foreign_model.model_name import ModelName, is_foreign_name, read_model_name
from headgrid.interop.foreign_model.opening import open_foreign_model
from headgrid.interop.foreign_model.weights import (
    PublishedWeights,
    RandomWeights,
    Weights,
    WeightsFile,
)

__all__ = [
    "ForeignModel",
    "ModelName",
    "PublishedWeights",
    "RandomWeights",
    "UnwrappedLogits",
    "Weights",
    "WeightsFile",
    "is_foreign_name",
    "open_foreign_model",
    "read_model_name",
]
