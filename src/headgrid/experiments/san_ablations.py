"""The ablations of SAN (Zhao, Jia and Koltun 2020): what of vector attention matters, one thing at a time.

All tables vary SAN10, and the paper's put ResNet-26 beside it. The network as it is, with subtraction (pairwise) or
concatenation (patchwise), three different transformations, footprints of 7 x 7, relative positions and a mapping of
two layers, stands in every table under the name that it has as a preset, so it needs to be trained only once.

The published accuracies of these tables are comparable with each other and not with the presets': ResNet-26 has
0.760 here and 0.736 in the paper's table of networks, the same pairwise SAN10 0.774 and 0.749. The parameters and
FLOPs that the paper prints are those that we count in our models, but for the FLOPs of one row, which says so.

Of the mapping gamma the slides have no table; how deep and how wide it should be is asked here all the same.
"""

from dataclasses import replace

from headgrid.attention import (
    AbsolutePosition,
    AllShared,
    CliqueProduct,
    Concatenation,
    DotProduct,
    GammaConfig,
    HadamardProduct,
    NoPosition,
    SharedPhiPsi,
    StarProduct,
    Summation,
)
from headgrid.attention import PairwiseAttentionConfig as Pairwise
from headgrid.attention import PatchwiseAttentionConfig as Patchwise
from headgrid.experiments.ablation import Ablation, AblationRow, Published
from headgrid.experiments.experiment import Experiment
from headgrid.experiments.san import PAPER, resnet26, san10_pairwise, san10_patchwise
from headgrid.models import BottleneckConfig, ResNetConfig, SANConfig

IMAGES = "ImageNet, in ablations"
PAIRWISE, PATCHWISE, CONVOLUTION = "SAN10 pairwise", "SAN10 patchwise", "ResNet-26"


def _san10(
    variant: str, name: str, attention: Pairwise | Patchwise, published: Published | None = None
) -> AblationRow:
    """SAN10 with this attention in all its blocks."""
    is_pairwise = isinstance(attention, Pairwise)
    base = san10_pairwise() if is_pairwise else san10_patchwise()
    assert isinstance(base.model, SANConfig)
    experiment = replace(base, name=f"{base.name}-{name}", model=replace(base.model, attention=attention))
    return AblationRow(experiment, PAIRWISE if is_pairwise else PATCHWISE, variant, published)


def _pairwise_as_it_is(variant: str, published: Published | None = None) -> AblationRow:
    return AblationRow(san10_pairwise(), PAIRWISE, variant, published)


def _patchwise_as_it_is(variant: str, published: Published | None = None) -> AblationRow:
    return AblationRow(san10_patchwise(), PATCHWISE, variant, published)


def _footprint(base: Experiment, network: str, side: int, published: Published) -> AblationRow:
    """Footprints of stages 2 to 5; those of the first stage, whose map is the largest, stay 3 x 3."""
    assert isinstance(base.model, SANConfig)
    first, *others = base.model.footprints
    footprints = (first, *(side for _ in others))
    if footprints != base.model.footprints:
        model = replace(base.model, footprints=footprints)
        base = replace(base, name=f"{base.name}-footprint-{side}", model=model)
    return AblationRow(base, network, f"{side} x {side}", published)


def _kernel(side: int, published: Published) -> AblationRow:
    """ResNet-26 with kernels of another side in the middle of its bottlenecks; the stem keeps its own."""
    base = resnet26()
    assert isinstance(base.model, ResNetConfig)
    block = BottleneckConfig(kernel_size=side)
    if block != base.model.block:
        base = replace(base, name=f"{base.name}-kernel-{side}", model=replace(base.model, block=block))
    return AblationRow(base, CONVOLUTION, f"{side} x {side}", published)


_AS_IS_CONVOLUTION = Published(0.760, 0.928, 13.7, 2.4)
_AS_IS_PAIRWISE = Published(0.774, 0.933, 10.5, 2.2)
_AS_IS_PATCHWISE = Published(0.793, 0.942, 11.8, 1.9)
_RESNET26 = AblationRow(resnet26(), CONVOLUTION, "convolution", _AS_IS_CONVOLUTION)

# Of ResNet-26 in this table the slides have lost the accuracies; all other tables print the same ones.
RELATION = Ablation(
    name="relation",
    varies="the relation function delta",
    source=f"{PAPER}, relation functions",
    images=IMAGES,
    rows=(
        _RESNET26,
        _san10("summation", "summation", Pairwise(relation=Summation()), Published(0.774, 0.933, 10.5, 2.2)),
        _pairwise_as_it_is("subtraction", _AS_IS_PAIRWISE),
        _san10(
            "concatenation", "concatenation", Pairwise(relation=Concatenation()), Published(0.764, 0.926, 10.6, 2.5)
        ),
        _san10(
            "Hadamard product", "hadamard", Pairwise(relation=HadamardProduct()), Published(0.774, 0.934, 10.5, 2.2)
        ),
        _san10("dot product", "dot-product", Pairwise(relation=DotProduct()), Published(0.770, 0.930, 10.5, 1.8)),
        _san10(
            "star-product", "star-product", Patchwise(relation=StarProduct()), Published(0.787, 0.940, 10.9, 1.7)
        ),
        _san10(
            "clique-product",
            "clique-product",
            Patchwise(relation=CliqueProduct()),
            Published(0.791, 0.942, 11.5, 1.9),
        ),
        _patchwise_as_it_is("concatenation", _AS_IS_PATCHWISE),
    ),
)

TRANSFORMATION = Ablation(
    name="transformation",
    varies="which of the transformation functions phi, psi, beta are the same",
    source=f"{PAPER}, transformation functions",
    images=IMAGES,
    rows=(
        _RESNET26,
        _san10(
            "phi = psi = beta",
            "all-shared",
            Pairwise(transformations=AllShared()),
            Published(0.765, 0.928, 9.5, 3.0),
        ),
        # The one row whose FLOPs we count differently: 2.046 G, and the paper prints 2.1. Without psi the network's
        # 2.155 G lose the 0.109 G that psi costs; we found no reading of the convention under which that is less
        # and the other rows still agree. The parameters of this row do agree.
        _san10(
            "phi = psi, beta",
            "shared-phi-psi",
            Pairwise(transformations=SharedPhiPsi()),
            Published(0.763, 0.926, 10.0, 2.1),
        ),
        _pairwise_as_it_is("phi, psi, beta", _AS_IS_PAIRWISE),
        _san10(
            "phi = psi = beta",
            "all-shared",
            Patchwise(transformations=AllShared()),
            Published(0.789, 0.941, 13.4, 2.2),
        ),
        _san10(
            "phi = psi, beta",
            "shared-phi-psi",
            Patchwise(transformations=SharedPhiPsi()),
            Published(0.790, 0.940, 11.3, 1.8),
        ),
        _patchwise_as_it_is("phi, psi, beta", _AS_IS_PATCHWISE),
    ),
)

FOOTPRINT = Ablation(
    name="footprint",
    varies="the size of footprints in stages 2 to 5, and of kernels",
    source=f"{PAPER}, footprint size",
    images=IMAGES,
    rows=(
        _kernel(3, _AS_IS_CONVOLUTION),
        _kernel(5, Published(0.774, 0.936, 22.7, 4.0)),
        _kernel(7, Published(0.779, 0.937, 36.1, 6.5)),
        _footprint(san10_pairwise(), PAIRWISE, 3, Published(0.753, 0.920, 10.5, 1.7)),
        _footprint(san10_pairwise(), PAIRWISE, 5, Published(0.766, 0.929, 10.5, 1.9)),
        _footprint(san10_pairwise(), PAIRWISE, 7, _AS_IS_PAIRWISE),
        _footprint(san10_pairwise(), PAIRWISE, 9, Published(0.778, 0.935, 10.5, 2.5)),
        _footprint(san10_pairwise(), PAIRWISE, 11, Published(0.776, 0.933, 10.5, 3.0)),
        _footprint(san10_patchwise(), PATCHWISE, 3, Published(0.774, 0.934, 10.7, 1.6)),
        _footprint(san10_patchwise(), PATCHWISE, 5, Published(0.787, 0.940, 11.2, 1.7)),
        _footprint(san10_patchwise(), PATCHWISE, 7, _AS_IS_PATCHWISE),
        _footprint(san10_patchwise(), PATCHWISE, 9, Published(0.793, 0.941, 12.7, 2.1)),
        _footprint(san10_patchwise(), PATCHWISE, 11, Published(0.794, 0.941, 13.8, 2.3)),
    ),
)

POSITION = Ablation(
    name="position",
    varies="the position encoding of pairwise attention",
    source=f"{PAPER}, position encoding",
    images=IMAGES,
    rows=(
        _RESNET26,
        _san10("none", "no-position", Pairwise(position=NoPosition()), Published(0.723, 0.903, 10.5, 2.1)),
        _san10(
            "absolute",
            "absolute-position",
            Pairwise(position=AbsolutePosition()),
            Published(0.747, 0.917, 10.5, 2.2),
        ),
        _pairwise_as_it_is("relative", _AS_IS_PAIRWISE),
    ),
)

# One layer leads patchwise attention straight from all pixels of a footprint to all its weights; the narrow layer
# between is what keeps the network small.
MAPPING_DEPTH = Ablation(
    name="mapping-depth",
    varies="the number of linear layers of the mapping gamma",
    source="ours",
    images="ImageNet",
    rows=(
        _san10("one layer", "mapping-depth-1", Pairwise(gamma=GammaConfig(num_layers=1))),
        _pairwise_as_it_is("two layers"),
        _san10("three layers", "mapping-depth-3", Pairwise(gamma=GammaConfig(num_layers=3))),
        _san10("one layer", "mapping-depth-1", Patchwise(gamma=GammaConfig(num_layers=1))),
        _patchwise_as_it_is("two layers"),
        _san10("three layers", "mapping-depth-3", Patchwise(gamma=GammaConfig(num_layers=3))),
    ),
)

# The paper's width is that of phi for pairwise attention, and the number of weights of a position for patchwise.
# The latter is 1 in the first stage of sizes laptop and tiny; half of that counts as 1, too.
MAPPING_WIDTH = Ablation(
    name="mapping-width",
    varies="the width between the layers of the mapping gamma",
    source="ours",
    images="ImageNet",
    rows=(
        _san10("half", "mapping-half-width", Pairwise(gamma=GammaConfig(width_factor=0.5))),
        _pairwise_as_it_is("as in the paper"),
        _san10("double", "mapping-double-width", Pairwise(gamma=GammaConfig(width_factor=2.0))),
        _san10("fourfold", "mapping-fourfold-width", Pairwise(gamma=GammaConfig(width_factor=4.0))),
        _san10("half", "mapping-half-width", Patchwise(gamma=GammaConfig(width_factor=0.5))),
        _patchwise_as_it_is("as in the paper"),
        _san10("double", "mapping-double-width", Patchwise(gamma=GammaConfig(width_factor=2.0))),
        _san10("fourfold", "mapping-fourfold-width", Patchwise(gamma=GammaConfig(width_factor=4.0))),
    ),
)

ABLATIONS = (RELATION, TRANSFORMATION, FOOTPRINT, POSITION, MAPPING_DEPTH, MAPPING_WIDTH)
