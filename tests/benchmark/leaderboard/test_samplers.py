"""A row that claims to sample has samples that are better than one step, and a spread that fits their error."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.leaderboard import read_leaderboard, render
from benchmark.leaderboard.entries import majority, pool
from benchmark.leaderboard.samplers import ONE_STEP, why_no_sampler
from benchmark.leaderboard.selection import is_own
from benchmark.planning.registry import registry
from benchmark.records.cell import Cell
from benchmark.records.files import read_record, record_paths, write_record
from methods.blocks.learned import Learned
from tests.benchmark.leaderboard.synthetic import done, score

RESULTS = Path(__file__).parents[3] / "results"
KNOWN = registry()
WORSE = "the mean of its samples is worse than its answer in one step"


def spread_is(value):
    return f"spread-skill is {value}, not in 0.7-1.3"


def record(one_step=(10.0, 10.0), mean=(10.0, 10.0), spread=(1.0, 1.0), samples=8, method="videopde"):
    plain = done(Cell(method, "cont_3", "navier_stokes", "smoke", 0), [12.0, 12.0], mean_of_samples=list(mean))
    added = {ONE_STEP: score(list(one_step)), "spread_skill": score(list(spread), unit="")}
    settings = plain.settings | {"evaluation": {"samples": samples}}
    return replace(plain, metrics=plain.metrics | added, settings=settings)


@pytest.mark.parametrize(
    "changes, faults",
    [
        ({}, None),
        ({"mean": (10.9, 11.1)}, None),  # 1.1 times, on average
        ({"mean": (11.0, 11.2)}, WORSE),
        ({"spread": (0.6, 0.8)}, None),
        ({"spread": (0.6, 0.78)}, spread_is("0.70")),  # 0.696
        ({"spread": (1.3, 1.32)}, spread_is("1.31")),
        ({"mean": (4.0, 12.0), "spread": (1.0, 0.5)}, spread_is("0.57")),  # the mean of the ratios is 0.75
        ({"mean": (20.0, 20.0), "spread": (0.1, 0.1)}, f"{WORSE}, {spread_is('0.10')}"),
        ({"mean": (1.0, 1.0), "spread": (0.1, 0.1)}, spread_is("0.10")),
    ],
)
def test_the_rule(changes, faults):
    assert why_no_sampler(record(**changes)) == (faults and f"not a sampler: {faults}")


def test_fewer_samples_do_not_tell():
    assert why_no_sampler(record(samples=2)) == "not shown to be a sampler: that takes 8 samples"


def test_without_an_answer_in_one_step_the_spread_alone_counts():
    plain = record(mean=(99.0, 99.0), method="eci")
    metrics = {name: value for name, value in plain.metrics.items() if name != ONE_STEP}
    assert why_no_sampler(replace(plain, metrics=metrics)) is None
    off = metrics | {"spread_skill": score([0.1, 0.1], unit="")}
    assert why_no_sampler(replace(plain, metrics=off)) == f"not a sampler: {spread_is('0.10')}"


def test_it_is_nothing_to_methods_without_samples_and_to_references():
    assert why_no_sampler(done(Cell("eci", "cont_3", "navier_stokes", "smoke", 0), [12.0])) is None
    assert why_no_sampler(record(spread=(0.1, 0.1), method="kriging")) is None
    assert why_no_sampler(replace(record(spread=(0.1, 0.1)), state="failed")) is None


def test_a_table_says_it_in_a_footnote(tmp_path):
    for found in (record(spread=(0.1, 0.1)), record(method="zhuang")):
        write_record(found.cell.path(tmp_path), found)
    board = read_leaderboard(tmp_path, "smoke")
    (column,) = board.columns
    assert (
        column.entries["videopde"].notes == (f"not a sampler: {spread_is('0.10')}",)
        and column.entries["zhuang"].notes == ()
    )
    assert render(board, "md").count("not a sampler") == 1 and "not a sampler" in render(board, "latex")


def test_of_several_seeds_one_is_enough():
    good, bad = record(), replace(record(mean=(30.0, 30.0)), cell=replace(record().cell, seed=1))
    assert pool([good, bad], majority([good, bad])).notes == (f"not a sampler: {WORSE}",)


def conditional(name):
    """Whether a method can answer in one step."""
    cls = KNOWN.load("methods", name)
    return issubclass(cls, Learned) and cls.conditional


def test_recorded_cells_that_are_no_samplers_are_labelled():
    """The suite's own at laptop: 8 samples, and an answer in one step to hold them against."""
    records = [found for path in record_paths(RESULTS, "laptop") if is_own(found := read_record(path))]
    for found in (r for r in records if r.state == "done" and conditional(r.cell.method)):
        assert ONE_STEP in found.metrics, f"{found.cell}: no {ONE_STEP}; run the cell again"
        many, one = (found.metrics[n].mean for n in ("rel_l2_mean", ONE_STEP))
        ratios, errors = (np.array(found.metrics[n].values) for n in ("spread_skill", "rel_l2_mean"))
        spread = np.linalg.norm(ratios * errors) / np.linalg.norm(errors)
        samples = many <= 1.1 * one and 0.7 <= spread <= 1.3
        notes = pool([found], majority([found])).notes
        assert any(note.startswith("not a sampler: ") for note in notes) != samples, found.cell


def test_who_answers_in_one_step():
    names = ("videopde", "videopde_unified", "zhuang", "ablation_concat", "ablation_latent", "fno", "eci", "shu")
    assert [name for name in names if conditional(name)] == list(names[:5])
    assert not conditional("diffusionpde") and not conditional("kriging")
