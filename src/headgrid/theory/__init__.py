"""The statements of Cordonnier et al. as code: convolution into attention, and attention back into convolution."""

from headgrid.theory.attention_to_convolution import (
    Certificate,
    Compilation,
    CompiledAttention,
    attention_to_convolution,
)
from headgrid.theory.compilation_report import CompilationReport, CompiledLayer, UncompiledLayer
from headgrid.theory.compile_model import CompiledModel, compile_model
from headgrid.theory.conversion_report import ConversionReport, ConvertedLayer, KeptLayer
from headgrid.theory.convert_convolution import ConvertedConvolution, convert_convolution
from headgrid.theory.convert_network import ConvertedNetwork, convert_network, convolutions_of
from headgrid.theory.footprint import Footprint
from headgrid.theory.head_to_shift import HeadToShift, head_to_shift
from headgrid.theory.initialize_from_convolution import (
    ConvolutionalInitialization,
    DefaultInitialization,
    initialize_from_convolution,
)
from headgrid.theory.lemma_1 import lemma_1, shifts_of_heads
from headgrid.theory.lemma_2 import exact_sharpness, lemma_2, mass_off_center
from headgrid.theory.low_rank_convolution import LowRankConvolution, low_rank_convolution
from headgrid.theory.theorem_1 import Deviation, measured_deviation, theorem_1

__all__ = [
    "Certificate",
    "Compilation",
    "CompilationReport",
    "CompiledAttention",
    "CompiledLayer",
    "CompiledModel",
    "ConversionReport",
    "ConvertedConvolution",
    "ConvertedLayer",
    "ConvertedNetwork",
    "ConvolutionalInitialization",
    "DefaultInitialization",
    "Deviation",
    "Footprint",
    "HeadToShift",
    "KeptLayer",
    "LowRankConvolution",
    "UncompiledLayer",
    "attention_to_convolution",
    "compile_model",
    "convert_convolution",
    "convert_network",
    "convolutions_of",
    "exact_sharpness",
    "head_to_shift",
    "initialize_from_convolution",
    "lemma_1",
    "lemma_2",
    "low_rank_convolution",
    "mass_off_center",
    "measured_deviation",
    "shifts_of_heads",
    "theorem_1",
]
