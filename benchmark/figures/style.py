"""How every figure looks: sizes for a paper's page, and for each method a colour and a marker that stay its own.

Colours are those of Okabe and Ito and of Paul Tol's muted scheme, told apart with the common colour deficiencies; no
two methods share colour and marker, so that a figure also reads in grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from benchmark.leaderboard.display import display, display_alone
from benchmark.leaderboard.names import known
from benchmark.records.files import replacing
from benchmark.scoring.metric_table import NEGLIGIBLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format = Literal["png", "pdf"]

ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0  # inches, of a page with two columns
PANEL_HEIGHT = 2.5  # inches
SMALL, NORMAL = 7, 8  # points
HANDLE, LETTER = 0.42, 0.058  # inches: of a legend's line with the gap around it, of a letter
DOTS = 300  # an inch, of a PNG
GREY, LIGHT = "#555555", "#d9d9d9"
FORMATS: tuple[Format, ...] = ("png", "pdf")
STAMPS: dict[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}  # that are left out

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
    "pdf.fonttype": 42,  # text stays text, in embedded TrueType
    "ps.fonttype": 42,
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
COLOURS, MARKERS = (BLACK, GREEN, PURPLE, ORANGE, SKY, WINE, OLIVE), "o^sDvph"
SPARE = [look for j in range(len(COLOURS)) for i, marker in enumerate(MARKERS)
         if (look := Look(COLOURS[(i + j) % len(COLOURS)], marker)) not in LOOKS.values()]  # fmt: skip


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


def heading(dataset: str, task: str, profile: str) -> str:
    """What a figure is of, in names as tables have them. Only the paper's size may be taken for the paper's numbers."""
    size = "" if profile == "paper" else " (not the paper's size)"
    return f"{', '.join(filter(None, (display(dataset), display_alone(task))))}; profile {profile}{size}"


def legend_columns(labels: Sequence[str], width: float) -> int:
    """As many as fit side by side in so many inches."""
    widest = HANDLE + LETTER * max(map(len, labels))
    return max(1, min(len(labels), int(width / widest)))


def plain_log(axis: Any, marks: Sequence[float] = (1.0,)) -> None:
    """Ticks at these multiples of powers of ten, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=marks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def log_marks(low: float, high: float) -> tuple[float, ...]:
    """Multiples of powers of ten that make a handful of ticks between these limits."""
    return (1, 2, 5) if high < 50 * low else (1, 3) if high < 1e3 * low else (1,)


def error_axis(axes: Axes) -> None:
    """A logarithmic axis of errors in percent. Errors below NEGLIGIBLE are alike, and drawn there (`drawn`)."""
    from matplotlib.ticker import FuncFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    low = max(low, 0.7 * NEGLIGIBLE)
    axes.set_ylim(low, high)
    plain_log(axes.yaxis, log_marks(low, high))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{'≤' if value <= 1.001 * NEGLIGIBLE else ''}{value:g}")
    )


def drawn(error: float) -> float:
    """Where an error stands on an `error_axis`."""
    return max(error, NEGLIGIBLE)


def save(figure: Figure, stem: Path, formats: Sequence[Format] = FORMATS) -> list[Path]:
    """`stem.png` and `stem.pdf`, without the time they were made at."""
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
    for path, kind in zip(paths, formats, strict=True):
        with styled(), replacing(path) as part:
            figure.savefig(part, format=kind, metadata=STAMPS[kind])
    return paths
