"""Random draws that depend on names alone, on every machine and in any order."""

from __future__ import annotations

import hashlib

import torch


def keyed_generator(*key: object) -> torch.Generator:
    """A generator that depends on the key's words alone, e.g. ("navier_stokes", seed, "train", 17)."""
    digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)  # 63 bits
