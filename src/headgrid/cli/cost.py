"""`headgrid cost`"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
import tyro

from headgrid.cli.output import print_json, print_table
from headgrid.evaluation.complexity import Cost, model_cost
from headgrid.evaluation.published_flops import published_flops
from headgrid.experiments import PRESETS, ModelConfig, Size, make_experiment
from headgrid.models import BottleneckConfig, ResNetConfig, SANConfig
from headgrid.stacks import Plain

CONVENTION = """\
Multiply-adds of one image in eval mode, each counted once; Cordonnier et al. print twice those of linear layers.
Attention maps: scores, and explicit N x N maps applied. Executed: what really runs, with exact shortcuts."""

SAN_CONVENTION = """\
Multiply-adds once, and what biases of convolutions, norms, ReLUs, poolings and relations cost besides."""


@dataclass(frozen=True)
class Arguments:
    """Count parameters and multiply-adds of presets."""

    presets: tyro.conf.Positional[tuple[str, ...]] = ()
    """Names of presets; all of them if none is given."""
    size: Size = "paper"
    """As published, or one of the smaller sizes."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print a JSON list."""


def main(arguments: Sequence[str]) -> int:
    options = tyro.cli(Arguments, args=arguments, prog="headgrid cost")
    costs = {name: cost_of(name, options.size) for name in options.presets or PRESETS}
    flops = {name: san_flops_of(name, options.size) for name in costs}
    if options.json:
        print_json(
            [
                {"preset": name, "size": options.size, **asdict(cost), "san_paper_flops": flops[name]}
                for name, cost in costs.items()
            ]
        )
        return 0
    print_table(
        ("preset", "parameters", "unused", "multiply-adds", "linear layers", "attention maps", "executed"),
        [
            (
                name,
                *(f"{count:,}" for count in (cost.num_parameters, cost.num_unused_parameters)),
                *(f"{count / 1e9:.3f} G" for count in (cost.macs, cost.linear_macs, cost.attention_macs)),
                f"{cost.executed_macs / 1e9:.3f} G",
            )
            for name, cost in costs.items()
        ],
        CONVENTION,
    )
    counted = [(name, f"{count / 1e9:.3f} G") for name, count in flops.items() if count is not None]
    if counted:
        print()
        print_table(("preset", "FLOPs of the SAN paper"), counted, SAN_CONVENTION)
    return 0


def cost_of(name: str, size: Size) -> Cost:
    """The cost of a preset's model, which is built and run without memory for its numbers."""
    config = make_experiment(name, size).model
    with torch.device("meta"):
        model = config.build()
    return model_cost(model, config.image_size, config.num_channels)


def san_flops_of(name: str, size: Size) -> int | None:
    """The FLOPs that the SAN paper would print of a preset; none for networks of other kinds than it compares."""
    config = make_experiment(name, size).model
    if not _is_compared(config):
        return None
    with torch.device("meta"):
        return published_flops(config.build(), config.image_size)  # type: ignore[arg-type]


def _is_compared(config: ModelConfig) -> bool:
    match config:
        case SANConfig(stack=Plain()) | ResNetConfig(block=BottleneckConfig()):
            return True
    return False
