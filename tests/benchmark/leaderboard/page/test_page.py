import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from benchmark.leaderboard import page as package
from benchmark.leaderboard import read_leaderboard, render, write_leaderboard
from benchmark.leaderboard.page.compute import line_of
from benchmark.leaderboard.page.details import field_names
from benchmark.leaderboard.page.render import SCRIPTS
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import MetricScore
from tests.benchmark.leaderboard.page.reading import chunk_of, data_of
from tests.benchmark.leaderboard.synthetic import Store, done, score
from tests.benchmark.leaderboard.test_formats import fill

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"


@pytest.fixture
def store(tmp_path):
    return fill(tmp_path / "results")


@pytest.fixture
def shown(store):
    page = render(read_leaderboard(store.results, "smoke"), "html")
    return page, data_of(page)["profiles"]["smoke"]


def entry(profile, method, dataset, task):
    (column,) = (c for c in profile["columns"] if (c["dataset"], c["task"]) == (dataset, task))
    return column["entries"][[m["name"] for m in profile["methods"]].index(method)]


def test_entries_have_the_marks_of_the_tables(shown):
    _, profile = shown
    best = entry(profile, "shu", "helmholtz", "cont_1")
    assert best["place"] == "best" and best["score"] == pytest.approx([3.28, 2.952, 3.608]) and best["ranked"]
    assert entry(profile, "videopde", "helmholtz", "cont_1")["place"] == "second"
    assert entry(profile, "kriging", "helmholtz", "cont_1")["place"] == "reference"
    assert (
        entry(profile, "shu", "wave_layer", "cont_1")["records"] and entry(profile, "shu", "wave_layer", "cont_1")["sd"]
    )
    timeout = entry(profile, "pino", "helmholtz", "cont_1")
    assert timeout["state"] == "timeout" and profile["notes"][timeout["notes"][0]] == "timeout: over 600 s"
    assert entry(profile, "pino", "helmholtz", "cont_3") == {"state": "missing"}


def test_other_metrics_are_there_with_who_leads(shown):
    page, profile = shown
    assert "chunk" not in profile["metrics"]["rel_l2"] and "rel_l2_curve" not in profile["metrics"]
    values = json.loads(chunk_of(page, profile["metrics"]["vrmse"]["chunk"]))
    names = [method["name"] for method in profile["methods"]]
    column = [c["dataset"] for c in profile["columns"]].index("helmholtz")
    assert values[column][names.index("shu")] == [
        pytest.approx(0.0328),
        pytest.approx(0.02952),
        pytest.approx(0.03608),
        "best",
    ]
    assert values[column][names.index("pino")] is None


def test_a_record_can_be_opened_and_says_how_to_make_it_again(shown):
    page, profile = shown
    (place,) = entry(profile, "shu", "helmholtz", "cont_1")["records"]
    chunk, at = profile["details"][place]
    record = json.loads(chunk_of(page, chunk))[at]
    assert record["command"].startswith("python -m benchmark run --method shu --task cont_1 --dataset helmholtz")
    assert "--profile smoke" in record["command"] and "--output reproduced" in record["command"]
    assert record["errors"][0] == 3.0 and record["provenance"]["commit"] and record["curve"][1] == [1.0, 2.0]


def test_error_of_each_frame(shown):
    page, profile = shown
    curves = json.loads(chunk_of(page, profile["curves"][0]))
    assert curves[0] == [None, [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]


def test_all_profiles_that_have_records_are_in_it(store):
    Store(store.results, "laptop").done("fno", [1.0, 2.0])
    page = write_leaderboard(store.results, "smoke", ["html"], None).text
    assert data_of(page)["shown"] == "smoke" and set(data_of(page)["profiles"]) == {"smoke", "laptop"}


def test_claims_are_held_against_the_records(shown):
    page, profile = shown
    claims = json.loads(chunk_of(page, profile["claims"]))
    assert len(claims["orderings"]) == 306 and claims["warnings"] and sum(claims["counts"]["claims"].values()) == 33
    assert not any("printed" in ordering for ordering in claims["orderings"])  # not the paper's sizes


def test_budgets_make_a_curve(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [4.0, 5.0])
    cell = replace(store.cell("fno", "cont_1", "navier_stokes", 0), variant="budget_5")
    write_record(cell.path(tmp_path), replace(done(cell, [2.0, 3.0]), changes={"steps": 50}))
    (curve,) = data_of(render(read_leaderboard(tmp_path, "smoke"), "html"))["profiles"]["smoke"]["compute"]
    assert [(point["budget"], point["mean"]) for point in curve["points"]] == [(1.0, 4.5), (5.0, 2.5)]


def test_the_line_of_a_variant_is_its_name_without_the_budget():
    cell = Cell("fno", "cont_1", "navier_stokes", "smoke", 0, "wide+budget_0.2")
    assert line_of(done(cell, [1.0])) == ("fno @ wide", 0.2)
    assert line_of(done(replace(cell, variant="wide"), [1.0])) == ("fno @ wide", 1.0)


def steady(cell, **errors):
    """A record of a steady problem, with an error of each field, in their order."""
    made, fields = done(cell, [1.0, 2.0]), {f"rel_l2_{name}": score([error]) for name, error in errors.items()}
    parts = [[getattr(one, part) for one in fields.values()] for part in ("mean", "low", "high")]
    more = {"rel_l2_fields": score([1.0]), "rel_l2_curve": MetricScore("%", *parts, [])}
    return replace(made, metrics={**made.metrics, **fields, **more})


def test_the_fields_of_a_steady_problem_are_known_by_their_errors():
    cell = Cell("fno", "cont_1", "helmholtz", "smoke", 0)
    assert field_names(steady(cell, u=3.0, a=1.0)) == ["u", "a"]
    assert field_names(steady(cell, u=0.0, a=0.0)) == ["a", "u"]  # alike: in the order of names
    assert field_names(done(cell, [1.0])) is None
    metrics = steady(cell, u=3.0, a=1.0).metrics
    without = {name: one for name, one in metrics.items() if name != "rel_l2_u"}
    assert field_names(replace(done(cell, [1.0]), metrics=without)) is None


def test_tasks_stand_in_the_order_of_the_registry(tmp_path):
    store = Store(tmp_path)
    for task, dataset in (("cont_05", "wave_layer"), ("cont_3", "wave_layer"), ("cont_1", "kolmogorov")):
        store.done("fno", [1.0, 2.0], task, dataset)
    store.done("fno", [1.0], "fwd_full", "wave_layer")
    profile = data_of(render(read_leaderboard(tmp_path, "smoke"), "html"))["profiles"]["smoke"]
    assert profile["tasks"] == ["cont_05", "cont_1", "cont_3", "fwd_full"]
    assert profile["datasets"] == ["wave_layer", "kolmogorov"]


def test_text_of_records_cannot_leave_the_data(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [1.0, 2.0], remark=HOSTILE)
    store.empty("shu", "failed", HOSTILE)
    page = render(read_leaderboard(tmp_path, "smoke"), "html")
    assert "alert" in page and "<script>alert" not in page and "<img" not in page and "<!--<" not in page
    assert HOSTILE in data_of(page)["profiles"]["smoke"]["notes"]


def test_the_policy_names_every_script_and_nothing_is_fetched(shown):
    page, _ = shown
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    for text in re.findall(r'<script(?: type="module")?>(.*?)</script>', page, re.DOTALL):
        assert f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert not re.search(r"<[^>]+ (src|href)=[\"'](?!#)", page.split("<script")[0]) and "sourceMappingURL" not in page


def test_libraries_are_what_they_are_said_to_be():
    folder = Path(str(files("benchmark.leaderboard.page").joinpath("vendor")))
    versions = json.loads((folder / "versions.json").read_text())
    digests = {name: digest for one in versions.values() for name, digest in one["sha256"].items()}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.min.*")}
    assert found == digests
    licences = (folder / "LICENSES.txt").read_text()
    assert all(f"{name} {one['version']}" in licences for name, one in versions.items())
    assert licences.count("Permission is hereby granted") == len(versions) and "<" not in licences


def test_every_script_of_the_page_is_part_of_it():
    names = {path.stem for path in Path(str(files("benchmark.leaderboard.page").joinpath("js"))).glob("*.js")}
    assert names == set(SCRIPTS) and len(names) == len(SCRIPTS)


def test_files_that_the_package_speaks_of_are_there():
    folder = files("benchmark.leaderboard.page")
    named = re.findall(r"`([\w/.]+)`", package.__doc__ or "")
    assert len(named) > 3 and all((folder / name).exists() for name in named)
