"""From the name of a foreign model to the model."""

from headgrid.interop.foreign_model.factory import open_factory
from headgrid.interop.foreign_model.foreign_model import ForeignModel
from headgrid.interop.foreign_model.model_name import read_model_name
from headgrid.interop.foreign_model.timm_models import open_timm
from headgrid.interop.foreign_model.torchvision_models import open_torchvision
from headgrid.interop.foreign_model.transformers_folder import open_transformers

_OPENERS = {
    "timm": open_timm,
    "torchvision": open_torchvision,
    "hf": open_transformers,
    "module": open_factory,
}


def open_foreign_model(word: str) -> ForeignModel:
    """The model of a name such as `timm:resnet18,weights=random`, in eval mode on the CPU.

    Packages of other projects are imported here and only when they are needed.
    """
    wanted = read_model_name(word)
    return _OPENERS[wanted.source](wanted, word)
