"""Which precision the machine at hand computes fastest in."""

import torch

from headgrid.evaluation.accuracy import Precision


def fast_precision() -> Precision:
    """bfloat16 where the hardware has matrix units for it, float32 elsewhere.

    Those are NVIDIA GPUs from Ampere on and x86 processors with AVX512-BF16 or AMX. Elsewhere bfloat16 is emulated,
    and slower than float32.
    """
    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.get_device_capability() >= (8, 0) else "float32"
    if torch.backends.mps.is_available():
        return "float32"
    # torch tells what the processor can do under these names only.
    has_units = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bfloat16" if has_units else "float32"
