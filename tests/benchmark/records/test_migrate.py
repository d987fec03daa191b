import copy
import json
from pathlib import Path

import pytest

from benchmark.planning.registry import registry
from benchmark.planning.resolve import about
from benchmark.records import migrate
from benchmark.records.cell import Cell, digest
from benchmark.records.files import read_record
from benchmark.records.migrate import SCHEMA, main, remove, rename, upgrade
from benchmark.records.record import About

CELL = Cell("pino", "cont_3", "navier_stokes", "laptop", 0)
TASK = {"dropout": 0.0, "family": "continuous", "fixed": True, "masks": 1, "name": "cont_3", "noise": 0.0, "rate": 0.03}
SETTINGS = {"task": {**TASK, "window": "drop"}, "method": {"window": 8, "edm": {"steps": 5}}}


NEWER = {"linear", "residual_min", "pino_refined", "videopde_kriged"}  # than schema 1: no old record has them


def old(cell: Cell = CELL) -> dict:
    """A record as schema 1 wrote it."""
    score = {"unit": "%", "mean": 4.5, "low": 4.0, "high": 5.0, "values": [4.123456789, 4.876543211]}
    key = digest(SETTINGS)
    return {
        "schema": 1,
        "cell": vars(cell),
        "state": "done",
        "settings": copy.deepcopy(SETTINGS),
        "key": key,
        "remark": None,
        "frames": None,
        "metrics": {"rel_l2": score, "rel_l1": score},
        "cost": {"parameters": 3, "evaluations": None},
        "provenance": {"settings_hash": key, "created": "2026-01-01"},
    }


def stored(root: Path, raw: dict, cell: Cell = CELL) -> Path:
    path = cell.path(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw, indent=1, sort_keys=True) + "\n")
    return path


def test_reading_upgrades_and_keeps_the_numbers(tmp_path):
    record = read_record(stored(tmp_path, old()))
    assert record.task == {**TASK, "roll_out": "drop", "trains": True}
    assert record.settings["method"] == SETTINGS["method"]
    assert record.about == About("learned", True, "task") and record.remark == "" and record.frames is None
    assert record.headline.values == [4.123456789, 4.876543211]
    assert record.key == record.provenance["settings_hash"] == digest(record.settings) != digest(SETTINGS)


def test_what_comes_in_is_left_as_it_was():
    raw = old()
    assert upgrade(raw) != raw == old()


def test_a_key_that_was_not_the_digest_stays():
    raw = upgrade(old() | {"key": "made another way"})
    assert raw["key"] == "made another way" and raw["provenance"]["settings_hash"] == digest(SETTINGS)


@pytest.mark.parametrize(("task", "trains"), [("fwd_partial", True), ("cont_05", False), ("long_range", False)])
def test_which_tasks_train(task, trains):
    raw = upgrade(old() | {"cell": vars(CELL) | {"task": task}})
    assert raw["settings"]["task"]["trains"] is trains


def test_a_record_without_settings_is_upgraded_too():
    raw = {"schema": 1, "cell": vars(CELL), "state": "failed", "reason": "x"}
    assert upgrade(raw) == raw | {
        "schema": SCHEMA,
        "about": {"kind": "learned", "uses_equation": True, "scope": "task"},
    }


@pytest.mark.parametrize("name", sorted(set(registry().names("methods")) - NEWER))
def test_the_methods_of_the_suite_are_what_they_say_today(name):
    raw = upgrade({"schema": 1, "cell": {"method": name, "task": "cont_3"}})
    assert About.from_json(raw["about"]) == about(registry().load("methods", name))


def test_curves_keep_their_mean_and_interval_only():
    raw = old()
    curve = {"unit": "%", "mean": [1.0, 2.0], "low": [0.5, 1.5], "high": [1.5, 2.5], "values": [[1.0, 2.0], [1.0, 2.0]]}
    metrics = upgrade(raw | {"metrics": raw["metrics"] | {"rel_l2_curve": curve}})["metrics"]
    assert metrics == raw["metrics"] | {"rel_l2_curve": curve | {"values": []}}


def test_a_setting_is_renamed_or_removed_by_a_line_in_a_table(monkeypatch):
    monkeypatch.setattr(migrate, "REMOVED", {2: ("method.edm.steps", "method.nothing.here")})
    monkeypatch.setattr(migrate, "RENAMED", {2: {"method.window": "method.frames", "no.such": "no.other"}})
    found = migrate.upgrade(old())
    assert found["settings"]["method"] == {"frames": 8, "edm": {}}
    assert found["key"] == digest(found["settings"])
    current = {**old(), "schema": SCHEMA}  # a stranger's setting of that name, recorded since
    assert migrate.upgrade(current) == current


def test_settings_that_bound_memory_are_gone():
    raw = old()
    raw["settings"]["method"] |= {"chunk": 16, "training": {"steps": 5, "optimiser": {"lr": 1.0, "eps": 1e-8}}}
    method = upgrade(raw)["settings"]["method"]
    assert "chunk" not in method and method["training"] == {"steps": 5, "optimiser": {"lr": 1.0}}


def test_renaming_makes_the_parts_that_the_new_path_needs():
    settings = {"a": {"b": 1}, "c": 2}
    rename(settings, {"a.b": "d.e.f", "a.b.c": "x"})
    remove(settings, ["c", "a.b"])
    assert settings == {"a": {}, "d": {"e": {"f": 1}}}


def test_the_command_rewrites_what_is_old_and_names_what_is_broken(tmp_path, capsys):
    first = stored(tmp_path, old())
    study = stored(tmp_path / "studies/s/a", old())
    assert main([str(tmp_path)]) == 0 and "2 records rewritten" in capsys.readouterr().out
    assert first.read_text() == study.read_text() and json.loads(first.read_text())["schema"] == SCHEMA
    first.with_name("mean-s0.json").write_text("{")
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "0 records rewritten" in said.out and "mean-s0.json: not a record" in said.err
    assert main([]) == main([str(tmp_path / "nowhere")]) == 2
