"""Speed of neighbourhood attention: `python -m tests.speed.attention`. Kernel (2, 7, 7), heads of 64, one thread.

Tiles against the definition (dense attention with a mask), forward and backward, and against natten's path for CPUs,
forward only, where natten is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import torch

from methods.blocks.networks.neighbourhood import neighbourhood_attention
from methods.blocks.networks.tables import Triple
from tests.speed.measure import interleaved, parser, report, warn_if_busy

KERNEL = (2, 7, 7)
GRIDS: list[Triple] = [(4, 8, 8), (4, 16, 16), (10, 16, 16)]
OVER_DENSE: dict[Triple, str] = {(4, 16, 16): ">= 1", (10, 16, 16): ">= 3"}  # 256 tokens: as fast as dense


def attend(grid: Triple, heads: int, backend: str, backward: bool) -> Callable[[], object]:
    generator = torch.Generator().manual_seed(0)
    q, k, v, weight = (torch.randn(1, *grid, heads, 64, generator=generator) for _ in range(4))
    qkv = [x.requires_grad_(backward) for x in (q, k, v)]

    def run() -> object:
        out = neighbourhood_attention(*qkv, KERNEL, backend=backend)
        return torch.autograd.grad(out, qkv, weight) if backward else out

    return run


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    warnings.filterwarnings("ignore", module="torch|natten")
    torch.set_num_threads(1)
    rows = []
    for grid in GRIDS:
        name = "x".join(map(str, grid))
        if grid in OVER_DENSE:
            times = interleaved({b: attend(grid, 2, b, backward=True) for b in ("tiled", "dense")}, repeats=15)
            ratio = times["dense"] / times["tiled"]
            rows.append((f"{name}: tiled over dense, forward + backward", ratio, OVER_DENSE[grid]))
        if find_spec("natten"):
            times = interleaved({b: attend(grid, 2, b, backward=False) for b in ("tiled", "natten")}, repeats=5)
            rows.append((f"{name}: tiled over natten on a CPU, forward", times["natten"] / times["tiled"], ">= 1"))
    report(rows)


if __name__ == "__main__":
    main()
