"""OUT: the file that a verb writes a model into."""

from pathlib import Path


def check_out(out: Path, force: bool) -> None:
    """Says before any work is done whether the file may be written."""
    if out.suffix != ".safetensors":
        raise ValueError(f"{out} should be a file that ends in .safetensors")
    if out.exists() and not force:
        raise ValueError(f"{out} exists already: choose another name, or replace it with --force")
