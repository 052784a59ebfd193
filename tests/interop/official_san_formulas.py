"""The official operators and network in the formulation that FACTS describe, with channels first and `F.unfold`.

Weights go by the official names. Nothing here is shared with the library.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def random_state(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    state = {}
    for name, shape in shapes.items():
        if name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(3)
        elif name.endswith("running_var"):
            state[name] = torch.rand(shape, dtype=torch.float64) + 0.5
        else:
            fan_in = max(1, torch.Size(shape[1:]).numel())
            state[name] = torch.randn(shape, dtype=torch.float64) / fan_in**0.5
    return state


def operator_shapes(kind: str, dim: int, relation: int, value: int, share: int, kernel: int) -> dict:
    groups, positions = value // share, kernel**2
    shapes = {}
    for name, out in (("conv1", relation), ("conv2", relation), ("conv3", value)):
        shapes |= {f"{name}.weight": (out, dim, 1, 1), f"{name}.bias": (out,)}
    if kind == "pairwise":
        shapes |= {"conv_p.weight": (2, 2, 1, 1), "conv_p.bias": (2,)}
        widths = relation + 2, relation, groups
    else:
        widths = relation * (positions + 1), groups, positions * groups
    shapes |= norm_shapes("conv_w.0", widths[0]) | {"conv_w.2.weight": (widths[1], widths[0], 1, 1)}
    shapes |= norm_shapes("conv_w.3", widths[1]) | {"conv_w.5.weight": (widths[2], widths[1], 1, 1)}
    return shapes | {"conv_w.5.bias": (widths[2],)}


def norm_shapes(name: str, channels: int) -> dict:
    parts = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (channels,))
    return {f"{name}.{part}": shape for part, shape in parts.items()} | {f"{name}.num_batches_tracked": ()}


def network_shapes(kind: str, layers: list[int], kernels: list[int], num_classes: int) -> dict:
    shapes: dict = {"conv_in.weight": (64, 3, 1, 1)} | norm_shapes("bn_in", 64)
    before = 64
    for stage, (blocks, kernel) in enumerate(zip(layers, kernels, strict=True)):
        dim = 64 if stage == 0 else 128 * 2**stage
        shapes |= {f"conv{stage}.weight": (dim, before, 1, 1)} | norm_shapes(f"bn{stage}", dim)
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            shapes |= norm_shapes(f"{name}.bn1", dim) | norm_shapes(f"{name}.bn2", dim // 4)
            shapes |= {f"{name}.conv.weight": (dim, dim // 4, 1, 1), f"{name}.conv.bias": (dim,)}
            attention = operator_shapes(kind, dim, dim // 16, dim // 4, 8, kernel)
            shapes |= {f"{name}.sam.{part}": shape for part, shape in attention.items()}
        before = dim
    return shapes | {"fc.weight": (num_classes, before), "fc.bias": (num_classes,)}


def network(state: dict[str, Tensor], images: Tensor, kind: str, layers: list[int], kernels: list[int]) -> Tensor:
    maps = _norm_relu(state, "bn_in", F.conv2d(images, state["conv_in.weight"]))
    for stage, (blocks, kernel) in enumerate(zip(layers, kernels, strict=True)):
        maps = F.conv2d(F.max_pool2d(maps, 2), state[f"conv{stage}.weight"])
        for block in range(blocks):
            name = f"layer{stage}.{block}."
            own = {entry.removeprefix(name): value for entry, value in state.items() if entry.startswith(name)}
            attention = {entry.removeprefix("sam."): value for entry, value in own.items()}
            attended = operator(attention, _norm_relu(own, "bn1", maps), kind, kernel)
            maps = maps + F.conv2d(_norm_relu(own, "bn2", attended), own["conv.weight"], own["conv.bias"])
        maps = _norm_relu(state, f"bn{stage}", maps)
    return F.linear(maps.mean((2, 3)), state["fc.weight"], state["fc.bias"])


def operator(
    state: dict[str, Tensor], maps: Tensor, kind: str, kernel: int, stride: int = 1, dilation: int = 1
) -> Tensor:
    phi, psi, beta = (_conv(state, name, maps) for name in ("conv1", "conv2", "conv3"))
    batch, _, height, width = maps.shape
    queries = ((height - 1) // stride + 1, (width - 1) // stride + 1)

    def footprints(of: Tensor) -> Tensor:
        reach = dilation * (kernel // 2)
        padded = F.pad(of, (reach,) * 4, mode="reflect")
        return F.unfold(padded, kernel, dilation, 0, stride).view(len(of), -1, kernel**2, queries[0] * queries[1])

    def centers(of: Tensor) -> Tensor:
        return of[:, :, ::stride, ::stride].flatten(2)

    if kind == "pairwise":
        row, column = torch.linspace(-1, 1, height).double(), torch.linspace(-1, 1, width).double()
        place = torch.stack([column.expand(height, -1), row[:, None].expand(-1, width)])[None]
        place = _conv(state, "conv_p", place)
        delta = centers(phi)[:, :, None] - footprints(psi)
        shift = (centers(place)[:, :, None] - footprints(place)).expand(batch, -1, -1, -1)
        weights = _gamma(state, torch.cat([delta, shift], dim=1)).softmax(dim=2)
    else:
        delta = torch.cat([centers(phi), footprints(psi).flatten(1, 2)], dim=1)[:, :, None]
        weights = _gamma(state, delta).view(batch, -1, kernel**2, queries[0] * queries[1])
    groups = weights.shape[1]
    values = footprints(beta).unflatten(1, (-1, groups))
    return (weights[:, None] * values).sum(3).flatten(1, 2).unflatten(-1, queries)


def _gamma(state: dict[str, Tensor], delta: Tensor) -> Tensor:
    hidden = F.conv2d(_norm_relu(state, "conv_w.0", delta), state["conv_w.2.weight"])
    return _conv(state, "conv_w.5", _norm_relu(state, "conv_w.3", hidden))


def _conv(state: dict[str, Tensor], name: str, maps: Tensor) -> Tensor:
    return F.conv2d(maps, state[f"{name}.weight"], state[f"{name}.bias"])


def _norm_relu(state: dict[str, Tensor], name: str, maps: Tensor) -> Tensor:
    parts = (state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    return F.relu(F.batch_norm(maps, *parts))
