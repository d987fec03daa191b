"""Properties of masks, metrics, settings, registry, records and suites that hold for all inputs."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from benchmark.core import Grid, Prediction, Problem, Trajectories
from benchmark.errors import UserError
from benchmark.planning.plain_yaml import load_yaml
from benchmark.planning.registry import PluginError, Registry, UnknownName
from benchmark.planning.settings import keys, parse_overrides, resolve
from benchmark.planning.suites import read_study, read_suite
from benchmark.records.cell import NAME, Cell, digest, plain
from benchmark.records.files import read_record, to_text
from benchmark.records.record import Record, RecordError
from benchmark.running.masks import mask_generator
from benchmark.scoring.metrics import NonFinitePrediction, score
from tasks.observation import Observation
from tests.benchmark.leaderboard.synthetic import done
from tests.benchmark.toy import Heat, LearnSettings

finite = st.floats(-1e6, 1e6, allow_nan=False)
text = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)  # YAML folds other line ends
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(text, parts, max_size=3),
    max_leaves=8,
)
names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,12}", fullmatch=True)
families = st.sampled_from(["continuous", "forward", "inverse", "long_range"])


# -- masks


@given(
    families,
    st.floats(0.001, 1),
    st.floats(0, 0.99),
    st.booleans(),
    st.integers(2, 12),
    st.integers(2, 6),
    st.integers(),
)
def test_masks_have_the_sensors_they_are_asked_for_and_depend_on_their_names_alone(
    family, rate, dropout, fixed, n, frames, seed
):
    task = Observation("t", family, rate, fixed, dropout=dropout)
    grid = Grid((n, n), (1.0, 1.0), tuple(map(float, range(frames))), "periodic")
    one, again = (task.mask(grid, mask_generator("d", "t", 3, seed)) for _ in range(2))
    assert torch.equal(one, again) and one.shape == (frames, n, n) and one.dtype == torch.bool
    sensors = n * n if rate == 1 else max(1, int(rate * n * n + 0.5))
    kept = sensors if not dropout else max(1, sensors - int(dropout * sensors + 0.5))
    seen = {"continuous": set(range(frames)), "inverse": {frames - 1}}.get(family, {0})
    assert one.flatten(1).sum(1).tolist() == [kept if i in seen else 0 for i in range(frames)]


@pytest.mark.parametrize("name", ["rate", "noise", "dropout"])
@given(value=st.floats())
@example(value=math.nan)
@example(value=math.inf)
def test_a_task_refuses_what_is_no_share_or_size(name, value):
    good = {"rate": 0 < value <= 1, "noise": 0 <= value < math.inf, "dropout": 0 <= value < 1}[name]
    if good:
        assert getattr(Observation("t", "forward", **{name: value}), name) == value
    else:
        with pytest.raises(ValueError, match="expected"):
            Observation("t", "forward", **{name: value})


# -- metrics


def case(seed: int, batch: int, frames: int, n: int) -> tuple[Trajectories, Problem, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    grid = Grid((n, n), (1.0, 1.0), tuple(0.5 * i for i in range(frames)), "periodic")
    truth = Trajectories(torch.randn(batch, frames, n, n, 1, generator=draw), grid, Heat())
    mask = torch.rand(truth.u.shape, generator=draw) < 0.3
    problem = Problem(torch.where(mask, truth.u, 0), mask, grid, Heat())
    return truth, problem, torch.randn(truth.u.shape, generator=draw)


@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(2, 3), st.sampled_from([4, 6, 8]), st.integers(-6, 6))
def test_metrics_are_zero_for_the_truth_and_follow_scale_and_batch(seed, batch, frames, n, power):
    truth, problem, other = case(seed, batch, frames, n)
    assert score(Prediction(truth.u[None]), truth, problem)["rel_l2"].values == [0.0] * batch
    found = score(Prediction(other[None]), truth, problem)
    scale = 2.0**power
    scaled = replace(truth, u=scale * truth.u), replace(problem, values=scale * problem.values)
    at_scale = score(Prediction(scale * other[None]), *scaled)
    assert at_scale["rel_l2"].values == pytest.approx(found["rel_l2"].values, rel=1e-9)
    alone = [
        score(Prediction(other[None, i : i + 1]), replace(truth, u=truth.u[i : i + 1]), cut(problem, i))[
            "rel_l2"
        ].values[0]
        for i in range(batch)
    ]
    assert alone == found["rel_l2"].values
    assert all(error >= 0 and math.isfinite(error) for error in found["rel_l2"].values)


def cut(problem: Problem, i: int) -> Problem:
    return replace(problem, values=problem.values[i : i + 1], mask=problem.mask[i : i + 1])


@given(st.integers(0, 2**31), st.sampled_from([math.nan, math.inf, -math.inf]), st.data())
def test_one_number_that_is_none_fails_the_whole_score(seed, bad, data):
    truth, problem, other = case(seed, 2, 2, 4)
    other.view(-1)[data.draw(st.integers(0, other.numel() - 1))] = bad
    with pytest.raises(NonFinitePrediction):
        score(Prediction(other[None]), truth, problem)


# -- settings


@given(st.lists(st.text(max_size=30), max_size=4))
@example(["width=" + "9" * 5000])
@example(["steps=" + "9" * 400])
@example(["width=2001-99-99"])
@example(["width=0x"])
@example(["a=\ud800"])
def test_overrides_are_understood_or_refused(items):
    try:
        found = parse_overrides(items)
    except UserError:
        return
    assert set(found) == {item.partition("=")[0].strip() for item in items}


@given(st.sampled_from(keys(LearnSettings())), anything)
@example("optimiser.rate", 10**400)
@example("shift", 10**400)
def test_a_setting_takes_what_fits_its_type_and_nothing_else(key, value):
    try:
        found = resolve(LearnSettings(), {key: value})
    except UserError as error:
        assert key in str(error)
        return
    owner, _, name = key.rpartition(".")
    got = getattr(found.optimiser if owner else found, name)
    assert isinstance(got, (int, float, type(None))) and not isinstance(got, bool)
    assert resolve(found, {key: plain(got) if got is not None else None}) == found or got != got


@given(st.text(max_size=12))
def test_an_unknown_setting_is_refused_by_name(key):
    assume(key not in (*keys(LearnSettings()), "optimiser"))
    with pytest.raises(UserError):
        resolve(LearnSettings(), {key: 1})


@given(anything)
def test_plain_values_survive_json_and_have_one_digest(value):
    once = plain(value)
    back = json.loads(json.dumps(once, allow_nan=False))
    assert back == once and digest(value) == digest(back)


@given(anything)
def test_yaml_gives_back_what_it_was_given_or_refuses(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    try:
        assert plain(load_yaml(text)) == plain(value)
    except yaml.YAMLError as error:
        assert "aliases" in str(error) or "stands twice" in str(error)


# -- registry


@given(st.text(max_size=20))
def test_the_registry_takes_names_that_can_be_files_and_no_others(name):
    registry = Registry()
    if NAME.fullmatch(name):
        registry.add("methods", name, "m:C", "here")
        assert registry.check("methods", name) == name
        with pytest.raises(PluginError):
            registry.add("methods", name, "m:C", "there")
    else:
        with pytest.raises(PluginError):
            registry.add("methods", name, "m:C", "here")
        with pytest.raises(UnknownName):
            registry.check("methods", name)


# -- records


@given(
    names,
    names,
    names,
    st.sampled_from(["smoke", "laptop"]),
    st.integers(0, 10**6),
    st.sampled_from(["", "wide", "a=1+b=2"]),
)
def test_a_cell_is_found_again_from_its_path(method, task, dataset, profile, seed, variant):
    cell = Cell(method, task, dataset, profile, seed, variant)
    path = cell.path(Path("results"))
    assert Cell.from_path(path) == cell and Cell.from_json(cell.to_json()) == cell
    assert path.parts[:1] == ("results",) and len(path.parts) == 5 and ".." not in path.parts


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=5), st.text(max_size=30), st.text(max_size=30))
def test_a_record_comes_back_as_it_was_written(tmp_path, values, remark, reason):
    cell = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
    record = replace(done(cell, values, remark=remark), reason=reason)
    path = cell.path(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text(record), encoding="utf-8", newline="\n")
    back = read_record(path)
    assert to_text(back) == to_text(Record.from_json(back.to_json()))
    assert back.headline == record.headline and back.cell == cell
    assert not re.search(r"[\x00-\x08\x1b\x7f-\x9f\u202e]", back.remark + back.reason)


PARTS = list(done(Cell("fno", "cont_1", "navier_stokes", "smoke", 0), [1.0]).to_json())


@given(st.sampled_from(PARTS), anything, st.booleans())
def test_a_record_with_any_part_replaced_is_read_or_refused(part, value, inside):
    raw = done(Cell("fno", "cont_1", "navier_stokes", "smoke", 0), [1.0]).to_json()
    if inside and isinstance(raw[part], dict) and raw[part]:
        raw[part] = {**raw[part], sorted(raw[part])[0]: value}
    else:
        raw[part] = value
    try:
        record = Record.from_json(raw)
    except RecordError:
        return
    assert Record.from_json(record.to_json()).to_json() == record.to_json()


# -- suites


@given(
    st.dictionaries(
        st.sampled_from(["title", "methods", "tasks", "datasets", "seeds", "samples", "variants", "x"]), anything
    )
)
def test_a_suite_is_read_or_refused_by_its_file(tmp_path, values):
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    for read in (read_suite, read_study):
        try:
            read(path)
        except UserError as error:
            assert "suite.yaml" in str(error)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_suite_or_refused(tmp_path, content):
    path = tmp_path / "suite.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match="suite.yaml"):
        read_suite(path)
