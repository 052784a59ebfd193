"""`torchvision:NAME`: the image classifiers of torchvision."""

from typing import Any

from headgrid.data import Normalization
from headgrid.interop.foreign_model.foreign_model import ForeignModel
from headgrid.interop.foreign_model.model_name import ModelName
from headgrid.interop.foreign_model.suggestion import suggestion
from headgrid.interop.foreign_model.torchvision_import import import_torchvision
from headgrid.interop.foreign_model.weights import (
    PublishedWeights,
    RandomWeights,
    WeightsFile,
    drawn_with,
    load_weights_file,
    tensors_only,
)


def open_torchvision(wanted: ModelName, word: str) -> ForeignModel:
    models = import_torchvision().models
    known = models.list_models(module=models)
    if wanted.name not in known:
        raise ValueError(f"torchvision has no classifier {wanted.name!r}: {suggestion(wanted.name, known)}")
    published = models.get_model_weights(wanted.name).DEFAULT
    module = _make(models, wanted, published, word)
    transforms = published.transforms()
    crop, resize = transforms.crop_size[0], transforms.resize_size[0]
    return ForeignModel(
        name=word,
        module=module.eval(),
        original=module,
        image_size=(crop, crop),
        crop_fraction=min(1.0, crop / resize),
        normalization=Normalization(tuple(transforms.mean), tuple(transforms.std)),
    )


def _make(models: Any, wanted: ModelName, published: Any, word: str) -> Any:
    chosen = published if isinstance(wanted.weights, PublishedWeights) else None
    seed = wanted.weights.seed if isinstance(wanted.weights, RandomWeights) else 0
    try:
        with drawn_with(seed), tensors_only():
            module = models.get_model(wanted.name, weights=chosen, **wanted.options)
    except OSError as error:  # urllib's are of this kind
        raise ValueError(
            f"the published weights of {word} are not in the cache and cannot be downloaded ({error}): add "
            f",weights=FILE.safetensors to the name, or ,weights=random"
        ) from error
    except TypeError as error:
        raise ValueError(f"{word} cannot be made: {error}") from error
    if isinstance(wanted.weights, WeightsFile):
        load_weights_file(module, wanted.weights, word)
    return module
