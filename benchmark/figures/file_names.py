"""Files are named after what is drawn, so that one figure does not take another's place.

errors-laptop-navier_stokes-cont_3-kriging,fno@wide-trajectory_2,log
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmark.records.cell import digest

if TYPE_CHECKING:
    from benchmark.figures.plot import Wanted

LONGEST = 44  # of a part; five of them fit into what file systems allow


def name_of(wanted: Wanted) -> str:
    """The same for the same request; options that are as usual are left out."""
    return stem(wanted.figure, wanted.profile, wanted.datasets, wanted.tasks, wanted.methods, options_of(wanted))


def options_of(wanted: Wanted) -> list[str]:
    numbers = {"seed": wanted.seeds if wanted.seeds != (0,) else (), "frames": wanted.frames or ()}
    return [
        *(f"{name}_{'+'.join(map(str, several))}" for name, several in numbers.items() if several),
        *([f"trajectory_{wanted.trajectory}"] if wanted.trajectory else ()),
        *([f"channel_{wanted.channel}"] if wanted.channel else ()),
        *(["log"] if wanted.log_errors else ()),
        *(["mean"] if wanted.samples == "mean" else ()),
    ]


def stem(figure: str, profile: str, *parts: Sequence[str]) -> str:
    return "-".join([figure, profile, *(listed(names) for names in parts if names)])


def listed(names: Sequence[str]) -> str:
    """`kriging,fno@wide`; where that is long or unsafe in a file name, its beginning and a digest."""
    text = ",".join(name.replace(" @ ", "@") for name in names)
    safe = re.sub(r"[^A-Za-z0-9_.=@+,-]+", "_", text)
    return text if safe == text and len(text) <= LONGEST else f"{safe[:LONGEST].rstrip(',')}-{digest(text)[:8]}"
