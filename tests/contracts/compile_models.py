"""Compiles small models and compares them: `python compile_models.py BACKEND MODEL...`. Run by `test_models.py`."""

import sys

import torch
from small_models import SMALL_MODELS


def check(name: str, backend: str) -> None:
    torch.manual_seed(0)
    small = SMALL_MODELS[name]
    model = small.config.build().eval()
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    images = torch.randn(2, 3, *small.image_size)
    logits, expected = compiled(images), model(images)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
    direction, parameters = torch.randn_like(expected), list(model.parameters())
    gradients = torch.autograd.grad(logits, parameters, direction)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected, parameters, direction), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for model_name in sys.argv[2:]:
        check(model_name, sys.argv[1])
