"""The official SAN (Zhao, Jia, Koltun 2020): its weights as our models."""

from headgrid.interop.official_san.checkpoint import CheckpointInfo, import_checkpoint
from headgrid.interop.official_san.network import translate
from headgrid.interop.official_san.operator import ChannelsFirst, translate_operator

__all__ = ["ChannelsFirst", "CheckpointInfo", "import_checkpoint", "translate", "translate_operator"]
