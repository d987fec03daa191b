"""How every figure looks: sizes for a paper's page, and for each method a colour and a marker that stay its own.

Colours are those of Okabe and Ito and of Paul Tol's muted scheme, told apart with the common colour deficiencies; no
two methods share colour and marker, so that a figure also reads in grey.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmark.leaderboard.names import known
from benchmark.records.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0  # inches, of a page with two columns
PANEL_HEIGHT = 2.5  # inches
SMALL, NORMAL = 7, 8  # points
DOTS = 300  # an inch, of a PNG
GREY, LIGHT = "#555555", "#d9d9d9"

RC: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that all machines draw the same
    "font.size": NORMAL,
    "axes.labelsize": NORMAL,
    "axes.titlesize": NORMAL,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT,
    "grid.linewidth": 0.4,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,  # text stays text
    "savefig.dpi": DOTS,
}

BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
BLACK, INDIGO, WINE, OLIVE, SAND = "#000000", "#332288", "#882255", "#999933", "#B8A44C"
DASHES = ((4, 2), (1, 1.2), (6, 1.5, 1, 1.5), (2.5, 1.2), (6, 1.5, 1, 1.5, 1, 1.5), (8, 3))  # of references


class Look(NamedTuple):
    colour: str
    marker: str


LOOKS = {
    "videopde": Look(BLUE, "o"),
    "videopde_unified": Look(INDIGO, "o"),
    "videopde_kriged": Look(SKY, "o"),
    "fno": Look(VERMILLION, "s"),
    "pino": Look(WINE, "s"),
    "pino_refined": Look(WINE, "d"),
    "deeponet": Look(ORANGE, "D"),
    "pinn": Look(BLACK, "H"),
    "diffusionpde": Look(GREEN, "^"),
    "diffusionpde_ext": Look(OLIVE, "^"),
    "shu": Look(PURPLE, "v"),
    "zhuang": Look(SKY, "p"),
    "eci": Look(SAND, "h"),
    "ablation_mixed": Look(BLUE, "<"),
    "ablation_concat": Look(BLUE, ">"),
    "ablation_flat": Look(BLUE, "P"),
    "ablation_latent": Look(BLUE, "d"),
    "ablation_hierarchical": Look(BLUE, "*"),
}
SPARE = [look for look in (Look(c, m) for m, c in product("o^sDvph", (BLACK, GREEN, PURPLE, ORANGE, SKY, WINE, OLIVE)))
         if look not in LOOKS.values()]  # fmt: skip


def looks(names: list[str]) -> dict[str, Look]:
    """Of each name; methods without a look take one that is spare, and so do variants unless they are alone."""
    spare = dict(zip((name for name in known("methods") if name not in LOOKS), SPARE, strict=False))
    rest = iter([look for look in SPARE if look not in spare.values()])
    methods = [name.partition(" @ ")[0] for name in names]
    own = [method if methods.count(method) == 1 else name for name, method in zip(names, methods, strict=True)]
    return {name: LOOKS.get(o) or spare.get(o) or next(rest) for name, o in zip(names, own, strict=True)}


@contextmanager
def styled() -> Iterator[None]:
    """Figures that are made and saved in here look alike."""
    from matplotlib import rc_context

    with rc_context(RC):
        yield


def save(figure: Figure, stem: Path) -> list[Path]:
    """`stem.png` and `stem.pdf`, without the time they were made at."""
    stamps: dict[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in stamps]
    for path, (kind, metadata) in zip(paths, stamps.items(), strict=True):
        with replacing(path) as part:
            figure.savefig(part, format=kind, metadata=metadata)
    return paths
