"""A plugin's source is part of its key; that of the suite's own methods is not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.planning.plan import plan
from benchmark.planning.registry import PluginError, Registry, registry
from benchmark.planning.resolve import Resolver
from benchmark.planning.sources import UNKNOWN, module_source
from benchmark.records.cell import Cell
from methods.kriging import Kriging
from tests.benchmark.planning.test_registry import PLUGIN
from tests.benchmark.planning.test_variants import store
from tests.benchmark.support import TOY, toy_request

TASK = "from tasks.observation import Observation\nTASKS = {'cont_9': Observation('cont_9', 'continuous', 0.09)}\n"


def edited(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


def test_an_edited_method_is_stale(tmp_path):
    request = toy_request(tmp_path, methods=("zero",), plugins=(TOY, edited(tmp_path, PLUGIN)))
    record = store(request)
    assert plan(request)[0].state == "done" and record.third_party == ("method", "dataset")
    edited(tmp_path, PLUGIN.replace("problem.values[None]", "2 * problem.values[None]"))
    planned = plan(request)[0]
    assert (planned.state, planned.action) == ("stale", "run") and planned.reason.startswith("sources.method: ")
    edited(tmp_path, PLUGIN)
    assert plan(request)[0].state == "done"


def test_a_fit_of_edited_code_is_another_fit(tmp_path):
    plugin = tmp_path / "toy.py"
    plugin.write_text(TOY.read_text())
    request = toy_request(tmp_path, plugins=(plugin,))
    before = plan(request)[0]
    plugin.write_text(TOY.read_text() + "\n")
    after = plan(request)[0]
    assert before.fit != after.fit and before.key != after.key


def test_an_edited_task_is_stale_but_a_suite_fit_that_did_not_learn_from_it_stays(tmp_path):
    plugin = edited(tmp_path, TASK)
    request = toy_request(
        tmp_path, methods=("videopde_unified", "fno"), tasks=("cont_9",), datasets=("navier_stokes",), plugins=(plugin,)
    )
    unified, fno = plan(request)
    assert unified.settings["sources"].keys() == fno.settings["sources"].keys() == {"task"}
    edited(tmp_path, TASK + "\n")
    unified_after, fno_after = plan(request)
    assert unified.key != unified_after.key and fno.key != fno_after.key
    assert unified.fit == unified_after.fit and fno.fit != fno_after.fit


def test_a_plugin_beside_them_leaves_the_keys_of_the_suites_own_alone(tmp_path):
    request = toy_request(tmp_path, methods=("nearest",), datasets=("navier_stokes",))
    bare = plan(replace(request, plugins=()))[0]
    assert plan(request)[0].key == bare.key and "sources" not in bare.settings


def test_an_edited_dataset_makes_its_data_anew(tmp_path):
    from datasets.layout import split_path

    plugin = tmp_path / "toy.py"
    paths = []
    for text in (TOY.read_text(), TOY.read_text() + "\n"):
        plugin.write_text(text)
        cls = registry([plugin]).load("datasets", "toy")
        paths.append(split_path(cls(cls.profiles["smoke"]), "test", tmp_path))
    assert paths[0] != paths[1]


def test_a_suite_dataset_under_another_name_keeps_its_data(tmp_path):
    from datasets.navier_stokes import NavierStokes

    text = "from datasets.navier_stokes import NavierStokes\nDATASETS = {'flow': NavierStokes}\n"
    known = registry([edited(tmp_path, text)])
    assert known.load("datasets", "flow").code == "" == NavierStokes.code
    assert known.source("datasets", "flow") and known.source("datasets", "navier_stokes") is None


def test_a_package_is_known_by_all_its_files_and_a_module_by_itself(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "my_package"
    (package / "parts").mkdir(parents=True)
    for name in ("__init__.py", "method.py", "parts/__init__.py", "parts/net.py"):
        (package / name).write_text("")
    (tmp_path / "my_module.py").write_text("x = 1\n")
    known = Registry()
    known.add("methods", "a", "my_package.method:A", "package mine")
    known.add("methods", "b", "my_module:B", "package mine")
    known.add("methods", "c", "no_such_module:C", "package mine")
    before = [known.source("methods", name) for name in "abc"]
    (package / "parts/net.py").write_text("x = 1\n")
    module_source.cache_clear()
    after = [known.source("methods", name) for name in "abc"]
    assert before[0] != after[0] and before[1] == after[1] and before[2] == after[2] == UNKNOWN


@pytest.mark.parametrize("name", ["a@b", "a/b", "", ".a", "a b"])
def test_a_name_that_is_no_part_of_a_file_name_is_refused(name):
    with pytest.raises(PluginError, match="expected a name of letters, digits"):
        Registry().add("methods", name, "m:A", "plugin x.py")


def test_a_plugins_task_shares_the_fit_of_all_tasks(tmp_path):
    """One network for a dataset, whatever task it is asked for; the task's source is in the record's key alone."""
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from dataclasses import replace\nfrom tasks.observation import CONT_1\n"
        'TASKS = {"cont_1b": replace(CONT_1, name="cont_1b", trains=False)}\n'
    )
    request = toy_request(tmp_path, methods=("videopde_unified",), plugins=(plugin,))
    cells = [Cell("videopde_unified", task, "navier_stokes", "smoke", 0) for task in ("cont_1", "cont_1b")]
    own, mine = (Resolver.of(request).resolve(cell) for cell in cells)
    assert own.fit_name == mine.fit_name and own.key != mine.key and "sources" in mine.identity


def test_a_method_made_of_others_carries_their_versions(tmp_path, monkeypatch):
    request = toy_request(tmp_path, methods=("solver",))
    cell = Cell("solver", "cont_1", "navier_stokes", "smoke", 0)
    before = Resolver.of(request).resolve(cell)
    monkeypatch.setattr(Kriging, "version", Kriging.version + 1)  # which is a part of `linear`, and that of `solver`
    after = Resolver.of(request).resolve(cell)
    assert before.key != after.key and before.fit_name != after.fit_name


def test_a_plugin_runs_from_its_text_not_from_older_bytecode(tmp_path):
    plugin = tmp_path / "mine.py"
    text = "from methods.mean import Mean\nclass Mine(Mean):\n    version = {}\nMETHODS = {{'mine': Mine}}\n"
    for number in (1, 2):
        plugin.write_text(text.format(number))
        os.utime(plugin, (1e9, 1e9))  # the same size and time
        assert registry([plugin]).load("methods", "mine").version == number
