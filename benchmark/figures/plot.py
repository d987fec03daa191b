"""Any figure by its name, from the files that `run` left: what `python -m benchmark plot` and `benchmark.plot` do.

drawn = plot(Wanted("long_range", ("fno", "videopde"), datasets=("kolmogorov",)))
drawn.figure            # matplotlib's
drawn.notes             # what must be said beside it
drawn.save(Path("figures"), ["png", "pdf"])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.file_names import name_of
from benchmark.figures.reading import Place, check_place, missing_records, predictions_of, records_of
from benchmark.planning.registry import near
from benchmark.records.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmark.leaderboard.entries import Samples

FILMS, PICTURES = ("gif", "mp4"), ("png", "pdf")
FORMATS = (*PICTURES, *FILMS)


@dataclass(frozen=True)
class Wanted:
    """What is asked for. Empty tasks are those that the figure is usually of."""

    figure: str
    methods: tuple[str, ...]  # as tables name them, or ("all",)
    tasks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ("navier_stokes",)
    profile: str = "laptop"
    seeds: tuple[int, ...] = (0,)
    trajectory: int = 0
    frames: tuple[int, ...] | None = None
    channel: str | None = None
    log_errors: bool = False
    samples: Samples = "one"
    results: Path = Path("results")
    runs: Path = Path("runs")

    @property
    def place(self) -> Place:
        return Place(self.tasks[0], self.datasets[0], self.profile, self.results, self.runs)


@dataclass(frozen=True)
class Drawn:
    """A figure with its name; picture and film are made when they are asked for."""

    make: Callable[[], Figure]
    name: str  # of its files
    notes: tuple[str, ...] = ()
    film: Callable[[], Any] | None = None

    @cached_property
    def figure(self) -> Figure:
        return self.make()

    def save(self, folder: Path, formats: Sequence[str] = PICTURES) -> list[Path]:
        from benchmark.figures.animation import save_film
        from benchmark.figures.style import save

        stem = folder / self.name
        pictures: Any = [kind for kind in formats if kind in PICTURES]
        films: Any = [kind for kind in formats if kind in FILMS]
        if films and self.film is None:
            raise UserError(f"--format {films[0]}: only `--figure errors` moves; choose {' or '.join(PICTURES)}")
        made = [save_film(self.film(), stem, kind) for kind in films if self.film]
        return [*(save(self.figure, stem, pictures) if pictures else ()), *made]


@dataclass(frozen=True)
class Kind:
    """A figure: what it shows, in a line, which tasks it is usually of, and what draws it."""

    summary: str
    draw: Callable[[Wanted], Drawn]
    tasks: tuple[str, ...] = ()
    many: tuple[str, ...] = ()  # of `tasks`, `datasets`, `seeds`: may be several


def plot(wanted: Wanted) -> Drawn:
    if wanted.figure not in KINDS:
        raise UserError(f"--figure: unknown figure {wanted.figure!r}{near(wanted.figure, KINDS)}")
    kind = KINDS[wanted.figure]
    wanted = replace(wanted, tasks=wanted.tasks or kind.tasks)
    if not wanted.tasks:
        raise UserError(f"--task is missing; {wanted.figure} is of one task, such as cont_3")
    for part in ("tasks", "datasets", "seeds"):
        given = getattr(wanted, part)
        if len(given) > 1 and part not in kind.many:
            raise UserError(f"--{part[:-1]}: {wanted.figure} is of one {part[:-1]}, got {', '.join(map(str, given))}")
    return kind.draw(wanted)


# -- from predictions


def _errors(wanted: Wanted) -> Drawn:
    from benchmark.figures.animation import film
    from benchmark.figures.error_maps import error_maps

    shown, notes = predictions_of(wanted.methods, wanted.place, wanted.seeds[0], wanted.trajectory)
    options: Any = (shown, wanted.trajectory, wanted.frames, wanted.channel, wanted.log_errors)
    return Drawn(lambda: error_maps(*options), name_of(wanted), tuple(notes), lambda: film(*options))


def _noise_seeds(wanted: Wanted) -> Drawn:
    from benchmark.figures.noise_seeds import noise_seeds

    shown, notes = predictions_of(wanted.methods, wanted.place, wanted.seeds[0], wanted.trajectory)
    if len(shown) > 1:
        raise UserError(f"noise_seeds is of one method, got {', '.join(shown)}")
    (p,) = shown.values()
    options: Any = (p, wanted.trajectory, wanted.frames, wanted.channel)
    return Drawn(lambda: noise_seeds(*options), name_of(wanted), tuple(notes))


def _spectra(wanted: Wanted) -> Drawn:
    from benchmark.figures.spectra import spectra

    shown, notes = predictions_of(wanted.methods, wanted.place, wanted.seeds[0])
    return Drawn(lambda: spectra(shown, wanted.frames, wanted.channel), name_of(wanted), tuple(notes))


# -- from records


def _records(wanted: Wanted, place: Place) -> tuple[dict[str, list[Record]], list[str]]:
    found = records_of(wanted.methods, place, wanted.seeds)
    notes = missing_records(found, place, wanted.seeds)
    done = {name: [record for record in own if record.state == "done"] for name, own in found.items()}
    return {name: own for name, own in done.items() if own}, notes


def _some(wanted: Wanted) -> tuple[dict[str, list[Record]], list[str]]:
    """Of one task on one dataset; at least one record."""
    records, notes = _records(wanted, wanted.place)
    if not records:
        why = "; ".join(notes) or f"no records of {wanted.place.task} on {wanted.place.dataset} in {wanted.results}/"
        raise UserError(f"nothing to draw: {why}")
    return records, notes


def _long_range(wanted: Wanted) -> Drawn:
    from benchmark.figures.comparable import comparable
    from benchmark.figures.long_range import long_range

    records, notes = _some(wanted)
    notes += comparable(records, any_frames=True)[1]
    return Drawn(lambda: long_range(records, wanted.log_errors), name_of(wanted), tuple(notes))


def _rates(wanted: Wanted) -> Drawn:
    from benchmark.figures.rates import entries_by_rate, rates

    records: list[Record] = []
    notes: list[str] = []
    for place in (replace(wanted.place, task=t, dataset=d) for d in wanted.datasets for t in wanted.tasks):
        found, missing = _records(wanted, place)
        records += [record for own in found.values() for record in own]
        notes += missing
    if not records:
        raise UserError(f"nothing to draw: {'; '.join(notes[:3]) or f'no records in {wanted.results}/'}")
    notes += entries_by_rate(records, wanted.samples)[1]
    return Drawn(lambda: rates(records, wanted.samples), name_of(wanted), tuple(notes))


def _cost(wanted: Wanted) -> Drawn:
    from benchmark.figures.cost import cost, points_of

    records, notes = _some(wanted)
    notes += points_of(records, wanted.samples)[1]
    return Drawn(lambda: cost(records, wanted.samples), name_of(wanted), tuple(notes))


def _compute(wanted: Wanted) -> Drawn:
    from benchmark.figures.compute import budgets_of, compute, curve_of
    from benchmark.figures.reading import all_learned, references_of

    check_place(wanted.place)
    methods = all_learned(wanted.place, wanted.seeds) if "all" in wanted.methods else wanted.methods
    records = budgets_of(methods, wanted.place, wanted.seeds)
    if all(len(own) < 2 for own in records.values()):
        names = ",".join(methods) or "fno"
        command = f"python -m benchmark curve --method {names} --task {wanted.tasks[0]} --dataset {wanted.datasets[0]}"
        raise UserError(f"compute: no records of several budgets; make them: {command} --profile {wanted.profile}")
    references = references_of(wanted.place)
    notes = curve_of(records, references, wanted.samples).notes
    return Drawn(lambda: compute(records, references, wanted.samples), name_of(wanted), notes)


def _calibration(wanted: Wanted) -> Drawn:
    from benchmark.figures.calibration import calibration, calibrations

    records, notes = _some(wanted)
    return Drawn(lambda: calibration(records), name_of(wanted), (*notes, *calibrations(records)[1]))


CONTINUOUS = ("cont_05", "cont_1", "cont_3")
KINDS = {
    "errors": Kind("truth, sensors, and each method's answer and error on one trajectory; also as a film", _errors),
    "noise_seeds": Kind("samples of one method, squares where they differ most", _noise_seeds),
    "spectra": Kind("energy at each wavenumber: truth, answers, errors", _spectra),
    "long_range": Kind(
        "error of the first n frames and of frame n alone", _long_range, ("long_range",), many=("seeds",)
    ),
    "rates": Kind(
        "error against the observed share, a panel a dataset", _rates, CONTINUOUS, many=("tasks", "datasets", "seeds")
    ),
    "cost": Kind("error against seconds of prediction and of training, Pareto fronts", _cost, many=("seeds",)),
    "compute": Kind("error against training compute, as `curve` draws it", _compute, many=("seeds",)),
    "calibration": Kind("methods that sample: spread against error, coverage", _calibration),
}
