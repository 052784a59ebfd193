"""Runs, files and models that figures are drawn of; images that are not square."""

from dataclasses import replace
from pathlib import Path

import torch
from PIL import Image

from headgrid.cli.figures.subject import Choices, Subject
from headgrid.data import Embedded, ImageFolder
from headgrid.experiments import create, make_experiment, run, save_model, shorten
from headgrid.experiments.experiment import Experiment

SIZE = (16, 24)
"""Rows and columns of images in tests that look at positions."""

FOREIGN = """
import torch
from torch import nn


class Net(nn.Module):
    '''Patches of 8 x 8 pixels and a class token in one layer of attention.'''

    def __init__(self):
        super().__init__()
        self.project = nn.Conv2d(3, 16, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.classify = nn.Linear(16, 10)

    def forward(self, images):
        patches = self.project(images).flatten(2).mT
        tokens = torch.cat([self.token.expand(len(images), -1, -1), patches], dim=1)
        return self.classify(self.attention(tokens, tokens, tokens, need_weights=False)[0][:, 0])
"""


def short_experiment(name: str) -> Experiment:
    experiment = shorten(make_experiment(name, "tiny"), 2)
    return replace(experiment, data=Embedded(num_train=60, num_validation=40, num_test=12))


def train(name: str, folder: Path) -> Path:
    run(short_experiment(name), folder)
    return folder


def save(name: str, folder: Path, **changes) -> Path:
    """An untrained model on images of 16 x 24 pixels, in a file."""
    torch.manual_seed(0)
    model = create(name, "tiny", image_size=SIZE)
    if changes:
        model = replace(model.config, **changes).build()
    path = folder / f"{name}.safetensors"
    save_model(model, path)
    return path


def write_images(folder: Path, number: int = 5) -> Path:
    for split in ("train", "test"):
        for image in range(number):
            path = folder / split / f"class-{image % 2}" / f"{image}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            colors = torch.randint(0, 256, (*SIZE, 3), generator=torch.Generator().manual_seed(image))
            Image.fromarray(colors.to(torch.uint8).numpy()).save(path)
    return folder


def subject_of(path: Path, folder: Path, **choices) -> Subject:
    """The subject of a file, with images of a folder that no worker processes read."""
    defaults = {
        "images": (), "query": None, "num_images": 3, "layer": None, "sort_heads": False, "data": str(folder),
        "data_dir": None, "device": torch.device("cpu"),
    }  # fmt: skip
    subject = Subject(str(path), Choices(**(defaults | choices)))
    subject.__dict__["data"] = ImageFolder(folder, image_size=SIZE, crop_fraction=1.0, num_workers=0).load()
    return subject
