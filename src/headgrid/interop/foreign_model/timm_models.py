"""`timm:NAME`: the image classifiers of timm."""

from importlib.util import find_spec
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


def open_timm(wanted: ModelName, word: str) -> ForeignModel:
    if find_spec("timm") is None:
        raise ValueError("models of timm need its package: pip install 'headgrid[timm]'")
    import_torchvision()  # which timm imports too, where it may fail
    import timm  # pyright: ignore[reportMissingImports]

    architecture = wanted.name.partition(".")[0]  # a tag after the dot tells weights of one architecture apart
    if not timm.is_model(architecture):
        raise ValueError(f"timm has no model {wanted.name!r}: {suggestion(architecture, timm.list_models())}")
    published = isinstance(wanted.weights, PublishedWeights)
    try:
        config = timm.get_pretrained_cfg(wanted.name)
    except RuntimeError:
        tagged = timm.list_pretrained(f"{architecture}.*")
        raise ValueError(f"timm has no weights {wanted.name!r}: {suggestion(wanted.name, tagged)}") from None
    if published:
        _check_published(config, wanted, word)
    module = _make(timm, wanted, published, word)
    if isinstance(wanted.weights, WeightsFile):
        load_weights_file(module, wanted.weights, word)
    described = timm.data.resolve_model_data_config(module)
    size = wanted.options.get("img_size", described["input_size"][1:])
    rows, columns = (size, size) if isinstance(size, int) else size
    return ForeignModel(
        name=word,
        module=module.eval(),
        original=module,
        image_size=(rows, columns),
        crop_fraction=described["crop_pct"],
        normalization=Normalization(tuple(described["mean"]), tuple(described["std"])),
    )


def _check_published(config: Any, wanted: ModelName, word: str) -> None:
    """timm would quietly leave a part of the weights random."""
    if config is None or not config.has_weights:
        raise ValueError(
            f"timm offers no weights for {wanted.name!r}: add ,weights=FILE.safetensors to the name, or "
            f",weights=random"
        )
    for option, theirs in (("num_classes", config.num_classes), ("in_chans", config.input_size[0])):
        if wanted.options.get(option, theirs) != theirs:
            raise ValueError(
                f"the published weights of {wanted.name!r} are for {option}={theirs}, not "
                f"{wanted.options[option]}: leave {option} out, or add ,weights=FILE.safetensors to the name"
            )


def _make(timm: Any, wanted: ModelName, published: bool, word: str) -> Any:
    seed = wanted.weights.seed if isinstance(wanted.weights, RandomWeights) else 0
    try:
        with drawn_with(seed), tensors_only():
            return timm.create_model(wanted.name, pretrained=published, **wanted.options)
    except TypeError as error:
        raise ValueError(f"{word} cannot be made: {error}") from error
    except Exception as error:  # the hub's errors have many types in several packages
        if not published:
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(
            f"the published weights of {word} are not in the cache and cannot be downloaded ({reason}): add "
            f",weights=FILE.safetensors to the name, or ,weights=random"
        ) from error
