"""Small datasets for tests of the store."""

from dataclasses import replace

from benchmark.core import Sizes
from datasets.kolmogorov import Kolmogorov
from datasets.navier_stokes import NavierStokes
from datasets.wave_layer import WaveLayer

SIZES = Sizes(resolution=16, frames=4, train=10, valid=4, test=4)


def navier_stokes(train: int = SIZES.train, **changes) -> NavierStokes:
    return NavierStokes(replace(NavierStokes.profiles["smoke"], sizes=replace(SIZES, train=train), **changes))


def wave_layer() -> WaveLayer:
    return WaveLayer(replace(WaveLayer.profiles["smoke"], sizes=SIZES))


def kolmogorov() -> Kolmogorov:
    sizes = replace(SIZES, train=12, long_frames=8)
    return Kolmogorov(replace(Kolmogorov.profiles["smoke"], sizes=sizes, burn_in=1.0, clips_per_run=6, clip_stride=2))
