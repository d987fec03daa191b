"""Zhuang et al.'s sampler with its condition encoded once, against encoding it anew: `python -m tests.speed.zhuang`.

Laptop size, one thread: 8 frames, an ensemble of 4. Condition tokens, keys and values depend on the sensors alone, so a
frame's members and all noise levels share them. Same output.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.blocks.diffusion.edm import sample
from methods.zhuang.method import LAPTOP, Zhuang
from tests.methods.small import generators, load
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy

MEMBERS = 4


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    torch.set_num_threads(1)
    cls = registry().load("datasets", "navier_stokes")
    profile = cls.profiles["laptop"]
    data = load(cls(replace(profile, sizes=replace(profile.sizes, train=16))), "train")
    settings = replace(
        LAPTOP,
        edm=replace(LAPTOP.edm, steps=sized(LAPTOP.edm.steps, 2)),
        training=replace(LAPTOP.training, steps=sized(20, 2), validations=0),
    )
    method = Zhuang(settings).fit(data, data, [], 0, Run())
    seen = registry().load("tasks", "cont_3").observe(data[:1], generators(1))
    y = method.normaliser_.encode_seen(seen.values, seen.mask).movedim(-1, 2)
    mask = seen.mask.movedim(-1, 2)
    known = method.field(y, mask, None)
    y, mask = y.flatten(0, 1)[:, None], mask.flatten(0, 1)[:, None]  # (T, 1, C, H, W)
    noise = torch.randn(len(y), MEMBERS, *y.shape[2:], generator=torch.Generator().manual_seed(0))
    start = torch.where(mask, y / settings.edm.sigma_max, noise)
    fields = known.repeat_interleave(MEMBERS, 0), mask.float()[:, 0].repeat_interleave(MEMBERS, 0)

    def denoise(x: Tensor, sigma: Tensor) -> Tensor:
        return torch.where(mask, y, method.net_(x.flatten(0, 1), sigma, *fields).view_as(x))

    def recomputed() -> Tensor:
        with torch.inference_mode():
            return sample(settings.edm, denoise, start)

    def cached() -> Tensor:
        with torch.inference_mode():
            return sample(settings.edm, method.prepared(known, y, mask), start)

    torch.testing.assert_close(cached(), recomputed(), rtol=1e-4, atol=1e-5)
    times = interleaved({"recomputed": recomputed, "cached": cached}, repeats=9)
    report([("condition encoded anew over encoded once", times["recomputed"] / times["cached"], ">= 1.5")])


if __name__ == "__main__":
    main()
