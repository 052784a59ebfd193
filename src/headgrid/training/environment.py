"""What a run was made with: versions, commit, hardware. No names of users and no paths."""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy
import torch

PACKAGE = Path(__file__).parents[1]


def describe_environment(device: torch.device) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "headgrid": version("headgrid"),
        "commit": _commit(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_model(),
        "num_cores": num_cores(),
        "num_threads": torch.get_num_threads(),
        "device": device.type,
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "cuda": torch.version.cuda,
    }


def num_cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _output(*command: str, folder: Path | None = None) -> str | None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _commit() -> dict[str, Any] | None:
    """The commit of the checkout that headgrid runs from, and whether files differ from it; none outside of one."""
    # A package installed below somebody else's checkout is not part of that checkout.
    if _output("git", "ls-files", "--error-unmatch", "__init__.py", folder=PACKAGE) is None:
        return None
    changes = _output("git", "status", "--porcelain", "--untracked-files=no", folder=PACKAGE)
    return {"id": _output("git", "rev-parse", "HEAD", folder=PACKAGE), "dirty": bool(changes)}


def _cpu_model() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    return platform.processor() or platform.machine()
