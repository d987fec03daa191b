from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmark.errors import UserError
from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.planning.suites import Study
from benchmark.planning.variants import as_options, departure, variant_name
from benchmark.records.cell import VARIANT, Cell
from benchmark.records.files import read_record, write_record
from benchmark.records.record import MetricScore, Record
from tests.benchmark.support import TOY, toy_request


def variants(request: Request) -> dict[str, str]:
    return {p.cell.method: p.cell.variant for p in plan(request)}


def store(request: Request) -> Record:
    """What a run of the request's first cell would leave."""
    p = plan(request)[0]
    score = MetricScore("%", 1.0, 1.0, 1.0, [1.0])
    record = Record(p.cell, "done", settings=p.settings, key=p.key, changes=p.changes, metrics={"rel_l2": score})
    write_record(p.cell.path(request.results), record)
    return record


@pytest.mark.parametrize(
    ("change", "name", "changes"),
    [
        ({"overrides": ("steps=7",)}, "steps=7", {"steps": 7}),
        ({"overrides": ("optimiser.rate=0.5",)}, "optimiser.rate=0.5", {"optimiser.rate": 0.5}),
        ({"overrides": ("optimiser.momentum=0.9", "steps=7")}, "steps=7+optimiser.momentum=0.9", None),
        ({"overrides": ("dataset.scale=2",)}, "dataset.scale=2.0", {"dataset.scale": 2.0}),
        ({"overrides": ("task.noise=0.1",)}, "task.noise=0.1", {"task.noise": 0.1}),
        ({"overrides": ("dataset.sizes.test=2",)}, "dataset.sizes.test=2", {"dataset.sizes.test": 2}),
        ({"samples": 3}, "samples=3", {"--samples": 3}),
        ({"limit": 2}, "limit=2", {"--limit": 2}),
        ({"mask_seed": 1}, "mask_seed=1", {"--mask-seed": 1}),
    ],
)
def test_what_departs_from_the_profile_is_a_variant_named_after_it(tmp_path, change, name, changes):
    plain = store(toy_request(tmp_path))
    request = toy_request(tmp_path, **change)
    planned = plan(request)[0]
    assert (planned.cell.variant, planned.state, planned.action) == (name, "missing", "run")
    assert changes is None or planned.changes == changes
    assert planned.cell.path(tmp_path).name == f"learn@{name}-s0.json"
    assert plan(replace(request, name="mine"))[0].cell == replace(planned.cell, variant="mine")
    store(request)
    assert plan(request)[0].state == "done"
    assert read_record(plain.cell.path(request.results)) == plain and plan(toy_request(tmp_path))[0].state == "done"


@pytest.mark.parametrize(
    "change",
    [
        {"overrides": ("steps=3",)},
        {"overrides": ("task.noise=0",)},
        {"overrides": ("dataset.scale=1.0", "optimiser.momentum=null")},
        {"limit": 4},
        {"limit": 100},
        {"samples": 2, "mask_seed": 0},
    ],
)
def test_repeating_what_the_profile_has_makes_no_variant(tmp_path, change):
    assert variants(toy_request(tmp_path, **change)) == {"learn": ""}


@pytest.mark.parametrize(
    ("change", "name", "changes"),
    [
        ({"budget": 5.0}, "budget_5", {"steps": 15}),
        ({"budget": 0.4}, "budget_0.4", {"steps": 1}),
        ({"budget": 5.0, "samples": 3}, "samples=3+budget_5", {"--samples": 3, "steps": 15}),
        ({"budget": 5.0, "samples": 3, "name": "mine"}, "mine+budget_5", {"--samples": 3, "steps": 15}),
        ({"budget": 5.0, "overrides": ("steps=4",)}, "steps=4+budget_5", {"steps": 20}),
        ({"budget": 1.0}, "", {}),
        ({"budget": 1.1}, "", {}),  # three steps are three steps
    ],
)
def test_a_multiple_of_the_budget_is_a_variant_of_its_own(tmp_path, change, name, changes):
    planned = plan(toy_request(tmp_path, **change))[0]
    assert (planned.cell.variant, planned.changes) == (name, changes)
    again = plan(toy_request(tmp_path, **as_options(planned.changes)))[0]
    assert (again.key, again.fit) == (planned.key, planned.fit)  # what the currency of records and `run` make of it


def test_a_method_without_a_budget_is_the_same_at_all(tmp_path):
    assert variants(toy_request(tmp_path, methods=("learn", "odd"), budget=5.0)) == {"learn": "budget_5", "odd": ""}


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, math.inf])
def test_a_budget_is_a_positive_number(tmp_path, budget):
    with pytest.raises(UserError, match="budget: expected a number above 0"):
        toy_request(tmp_path, budget=budget)


def test_a_budget_setting_that_is_not_there_is_the_plugins_mistake(tmp_path):
    (tmp_path / "plugin.py").write_text(
        "from tests.benchmark.toy import Learn\n\n\nclass Wrong(Learn):\n    budget_settings = ('epochs',)\n\n\n"
        "METHODS = {'wrong': Wrong}\n"
    )
    request = toy_request(tmp_path, methods=("wrong",), plugins=(TOY, tmp_path / "plugin.py"))
    (refused,) = plan(request)
    assert refused.action == "refuse" and "'wrong': budget_settings: it has no setting 'epochs'" in refused.reason


def test_a_config_file_makes_variants_too(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("optimiser: {rate: 0.5}\n")
    assert variants(toy_request(tmp_path, config=config)) == {"learn": "optimiser.rate=0.5"}


def test_an_override_of_another_method_makes_no_variant(tmp_path):
    request = toy_request(tmp_path, methods=("learn", "odd"), overrides=("how=fine", "steps=7"))
    assert variants(request) == {"learn": "steps=7", "odd": ""}
    assert variants(replace(request, name="mine")) == {"learn": "mine", "odd": ""}


def test_settings_that_move_no_number_make_no_variant(tmp_path):
    request = Request(("zhuang",), ("cont_3",), profile="smoke", data=tmp_path, overrides=("chunk=1",))
    assert variants(request) == {"zhuang": ""}


def test_variants_share_a_fit_that_learns_the_same(tmp_path):
    plain = plan(toy_request(tmp_path))[0]
    for change, is_shared in (
        ({"overrides": ("shift=1",)}, True),  # only predictions read it
        ({"limit": 2, "samples": 3, "mask_seed": 1}, True),
        ({"overrides": ("steps=7",)}, False),
        ({"overrides": ("task.noise=0.1",)}, False),
    ):
        variant = plan(toy_request(tmp_path, **change))[0]
        assert variant.cell.variant and (variant.fit == plain.fit) is is_shared


def test_one_name_stands_for_one_set_of_changes(tmp_path):
    first = toy_request(tmp_path, overrides=("steps=7",), name="mine")
    store(first)
    other = replace(first, overrides=("steps=8",))
    with pytest.raises(UserError, match=r"'learn @ mine' is taken.*steps=7.*steps=8.*another --name.*--overwrite"):
        plan(other)
    assert plan(replace(other, overwrite=True))[0].action == "run"
    assert plan(replace(other, name="other"))[0].state == "missing"
    assert plan(first)[0].state == "done"


def test_a_name_is_not_reused_on_another_seed_or_task(tmp_path):
    """Seeds are pooled, and a row of a table is one set of settings."""
    store(toy_request(tmp_path, overrides=("steps=7",), name="mine"))
    for change in ({"seeds": (1,)}, {"tasks": ("cont_1",)}):
        other = toy_request(tmp_path, overrides=("steps=8",), name="mine", **change)
        for request in (other, replace(other, overwrite=True)):  # the other record would stay
            with pytest.raises(UserError, match="records remove --variant mine"):
                plan(request)
        assert plan(replace(other, overrides=("steps=7",)))[0].state == "missing"


def test_a_variant_may_be_stale_as_any_cell(tmp_path, monkeypatch):
    request = toy_request(tmp_path, overrides=("steps=7",), name="mine")
    store(request)
    monkeypatch.setattr("benchmark.planning.resolve.SCORER_VERSION", 999)
    planned = plan(request)[0]
    assert planned.state == "stale" and planned.reason.startswith("versions.scorer")


def test_a_name_needs_something_to_name(tmp_path):
    with pytest.raises(UserError, match="nothing departs from the profile's own settings"):
        plan(toy_request(tmp_path, overrides=("steps=3",), name="mine"))


@pytest.mark.parametrize("name", ["a/b", "../a", "a b", "@", ".a", "a,b", "x" * 81, "é"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path, name):
    with pytest.raises(UserError, match="--name: expected a letter or digit"):
        toy_request(tmp_path, name=name)


@pytest.mark.parametrize("name", ["all", "none", "plugins", "variants"])
def test_a_name_that_means_something_else_is_refused(tmp_path, name):
    with pytest.raises(UserError, match="has a meaning of its own"):
        toy_request(tmp_path, name=name)


@pytest.mark.parametrize(
    "changes", [{"a": "x/y z"}, {"a": "../.."}, {"a": [[1, 2], "é"]}, {f"setting_{i}": 0.123456 for i in range(9)}]
)
def test_a_made_name_is_safe_and_tells_values_apart(changes):
    name = variant_name(changes)
    assert VARIANT.fullmatch(name) and len(name) <= 80
    assert variant_name({**changes, next(iter(changes)): "x/y_z"}) != name
    assert (
        variant_name({"modes": [8, 8], "act": "gelu", "lr": 1e-5, "ema": None})
        == "modes=8x8+act=gelu+lr=1e-05+ema=null"
    )


def test_the_departure_of_a_limit_is_named_only_if_one_was_given():
    plain, own = ({"evaluation": {"trajectories": n}, "method": {"instances": m}} for n, m in ((8, None), (2, 2)))
    assert departure(plain, own, None) == {"instances": 2}
    assert departure(plain, own, 2) == {"--limit": 2, "instances": 2}
    assert departure(plain, plain, 2) == {}


def test_changes_make_the_same_request_again(tmp_path):
    first = plan(toy_request(tmp_path, overrides=("steps=7", "optimiser.momentum=0.5", "task.noise=0.1"), samples=3))[0]
    again = plan(toy_request(tmp_path, **as_options(first.changes)))[0]
    assert (again.cell, again.key) == (first.cell, first.key)


def test_in_a_study_the_variant_of_the_study_is_plain(tmp_path):
    study = Study("s", "S", {"more": {"steps": 9}})
    (request,) = study.requests(toy_request(tmp_path)).values()
    assert variants(request) == {"learn": ""} and plan(request)[0].settings["method"]["steps"] == 9
    assert variants(replace(request, overrides=("steps=9",))) == {"learn": ""}
    assert variants(replace(request, overrides=("steps=3",))) == {"learn": "steps=3"}


def test_a_cell_is_found_again_from_its_path(tmp_path):
    for cell in (
        Cell("fno", "cont_1", "navier_stokes", "smoke", 12),
        Cell("fno-s1", "cont_1", "navier_stokes", "smoke", 0, "width=64-s3"),
    ):
        assert Cell.from_path(cell.path(tmp_path)) == cell
    assert Cell.from_path(tmp_path / "README.md") is None and Cell.from_path(tmp_path / "a/b/c/fno.json") is None
    assert str(Cell("fno", "t", "d", "smoke", 0, "wide")) == "fno @ wide x t x d (smoke, seed 0)"


def test_a_name_is_not_taken_by_a_longer_one(tmp_path):
    first = replace(toy_request(tmp_path), overrides=("steps=7",), name="wide-s2")
    store(first)
    (cell,) = plan(replace(first, overrides=("steps=9",), name="wide"))
    assert cell.cell.variant == "wide" and cell.action == "run"
