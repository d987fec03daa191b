"""From a run to its records and their removal, over the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli import main
from tests.benchmark.planning.test_registry import PLUGIN
from tests.benchmark.support import TOY


class Desk:
    """The commands with folders of their own; each answers (code, out, err)."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]):
        self.root, self.capsys, self.results = root, capsys, root / "results"
        self.folder = self.results / "smoke" / "toy" / "fwd_full"
        self.data = ("--data", root / "data", "--plugin", TOY)

    def __call__(self, *arguments):
        code = main([str(argument) for argument in arguments])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def run(self, *arguments, method="learn"):
        where = ("--output", self.results, "--runs", self.root / "runs", "--profile", "smoke", "--dataset", "toy")
        return self("run", "--method", method, "--task", "fwd_full", *where, *self.data, *arguments)

    def list(self, *arguments):
        code, out, _ = self("records", "list", "--results", self.results, *self.data, "--json", *arguments)
        assert code == 0
        return {Path(r["path"]).name: r for r in json.loads(out)["records"]}

    def remove(self, *arguments):
        runs = ("--runs", self.root / "runs")
        return self("records", "remove", "--results", self.results, *self.data, *runs, *arguments)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def fits(self):
        return sorted(path.parent.name for path in (self.root / "runs").rglob("fit.json"))


@pytest.fixture
def desk(tmp_path, capsys):
    return Desk(tmp_path, capsys)


def test_a_run_tells_stored_from_computed(desk):
    code, out, err = desk.run()
    assert code == 0 and "done, computed now" in out and ", computed now\n" in err
    assert "1 done; 1 computed now\n" in out
    code, out, err = desk.run(method="learn,odd")
    lines = {line.split()[0]: line for line in out.splitlines() if " fwd_full " in line}
    assert "done, stored (20" in lines["learn"] and "computed now" not in lines["learn"]
    assert "done, computed now" in lines["odd"] and "2 done; 1 stored, 1 computed now" in out
    assert ", stored (20" in next(line for line in err.splitlines() if "learn x" in line)
    _, out, _ = desk.run("--json", method="learn,odd_error")
    obtained = {r["cell"]["method"]: (r["state"], r["obtained"]) for r in json.loads(out)["records"]}
    assert obtained == {"learn": ("done", "stored"), "odd_error": ("failed", "computed now")}
    _, out, _ = desk.run("--dry-run", method="learn,odd,odd_slow")
    assert out.count("done, stored (20") == 2 and out.count("missing") == 1
    _, out, _ = desk.run("--dry-run", "--json", method="learn,odd_slow")
    done, missing = (row["stored"] for row in json.loads(out)["cells"])
    assert done.keys() == {"created", "commit", "dirty"} and done["created"] and missing is None


def test_a_cell_that_is_refused_is_neither(desk):
    desk.folder.mkdir(parents=True)
    (desk.folder / "learn-s0.json").write_text("{")
    code, out, _ = desk.run()
    assert code == 1 and "failed, not run: " in out and "1 failed; 1 not run" in out


def test_a_run_names_its_next_step_and_it_works(desk):
    plugin = desk.root / "mine.py"
    plugin.write_text(PLUGIN)
    where = ["--output", desk.results, "--runs", desk.root / "runs", "--data", desk.root / "data"]
    request = ["run", "--task", "cont_3", "--profile", "smoke", *where]
    _, out, _ = desk(*request, "--method", "nearest")
    assert out.splitlines()[-1] == f"next: python -m benchmark leaderboard --profile smoke --results {desk.results}"
    _, out, _ = desk(*request, "--method", "zero", "--plugin", plugin)
    rows = [line for line in out.splitlines() if " cont_3 " in line]
    assert [row.split()[0] for row in rows] == ["zero", "nearest"] and "stored (20" in rows[1]
    *_, last = out.splitlines()
    assert last.startswith("next: python -m benchmark leaderboard ") and last.endswith(" --include zero")
    _, out, _ = desk(*last.split()[4:])
    assert "| zero " in out and "| nearest " in out
    _, out, _ = desk(*request, "--method", "nearest", "--limit", "2")
    assert out.splitlines()[-1].endswith(" --include limit=2") and "nearest @ limit=2" in out


def test_variants_stand_beside_the_plain_record(desk):
    desk.run()
    plain = (desk.folder / "learn-s0.json").read_bytes()
    _, out, err = desk.run("--set", "steps=7")
    assert "learn @ steps=7  fwd_full" in out and "learn @ steps=7 x fwd_full" in err
    desk.run("--set", "shift=1", "--name", "moved")
    assert desk.names() == ["learn-s0.json", "learn@moved-s0.json", "learn@steps=7-s0.json"]
    assert (desk.folder / "learn-s0.json").read_bytes() == plain
    moved = json.loads((desk.folder / "learn@moved-s0.json").read_text())
    assert moved["cell"]["variant"] == "moved" and moved["changes"] == {"shift": 1.0}
    assert moved["cost"]["fit_cached"] is True and len(desk.fits()) == 2  # `shift` is read by predictions alone
    code, out, err = desk.run("--set", "shift=2", "--name", "moved")
    assert code == 2 and out == "" and "'learn @ moved' is taken" in err
    assert desk.run("--set", "shift=2", "--name", "moved", "--overwrite")[0] == 0
    assert desk.list()["learn@moved-s0.json"]["changes"] == {"shift": 2.0}


def test_records_are_listed_with_their_state(desk):
    plugin = desk.root / "zero.py"
    plugin.write_text(PLUGIN)
    desk.run("--plugin", plugin, method="learn,odd_error,zero")
    desk.run("--set", "steps=7")
    (desk.folder / "odd-s0.json").write_text("{")
    (desk.folder / "zero-s0.json").write_text(
        (desk.folder / "zero-s0.json").read_text().replace('"key": "', '"key": "0')
    )
    found = desk.list("--plugin", plugin)
    assert {name: (one["state"], one["is_current"]) for name, one in found.items()} == {
        "learn-s0.json": ("done", True), "learn@steps=7-s0.json": ("done", True), "odd-s0.json": ("unreadable", None),
        "odd_error-s0.json": ("failed", True), "zero-s0.json": ("stale", False),
    }  # fmt: skip
    assert desk.list()["zero-s0.json"]["is_current"] is None  # the plugin is not given
    one = found["learn@steps=7-s0.json"]
    assert one["created"] and one["bytes"] == Path(one["path"]).stat().st_size
    for filters, names in (
        (["--state", "failed,unreadable"], {"odd-s0.json", "odd_error-s0.json"}),
        (["--variant", "all"], {"learn@steps=7-s0.json"}),
        (["--variant", "none", "--method", "learn"], {"learn-s0.json"}),
        (["--variant", "steps=7"], {"learn@steps=7-s0.json"}),
        (["--method", "learn", "--task", "cont_3"], set()),
        (["--profile", "laptop"], set()),
        (["--dataset", "toy", "--state", "stale", "--plugin", plugin], {"zero-s0.json"}),
    ):
        assert desk.list(*filters).keys() == names
    _, out, _ = desk("records", "list", "--results", desk.results, *desk.data)
    assert "learn @ steps=7" in out and "done ?" in out and "5 records" in out


def test_nothing_is_removed_without_a_yes(desk):
    desk.run()
    code, out, err = desk.remove("--method", "learn")
    assert code == 0 and "learn" in out and "1 records" in out and "without --yes" in err
    assert desk.names() == ["learn-s0.json"]
    assert desk.remove("--method", "lern", "--yes")[2] == "nothing matches\n"


def test_what_matches_goes_and_the_rest_stays(desk):
    desk.run(method="learn,odd")
    desk.run("--set", "steps=7")
    (desk.folder / ".learn@steps=7-s0.json.lock").touch()
    (desk.folder / ".learn@steps=7-s0.json.x1.tmp").touch()
    (desk.folder / ".learn@gone-s0.json.lock").touch()
    (desk.folder / ".odd_slow-s0.json.lock").touch()
    code, out, _ = desk.remove("--variant", "all", "--yes")
    assert code == 0 and "2 removed" in out
    assert desk.names() == [".odd_slow-s0.json.lock", "learn-s0.json", "odd-s0.json"]
    assert len(desk.fits()) == 2  # kept
    code, out, _ = desk.remove("--dataset", "toy", "--yes", "--json")
    assert json.loads(out)["removed"] is True and desk.names() == []


def test_predictions_go_with_their_record_and_with_no_other(desk):
    desk.run()
    desk.run("--set", "steps=7")
    kept = lambda: sorted(path.name for path in (desk.root / "runs").rglob("*.npz"))  # noqa: E731
    (plain,) = (desk.root / "runs").rglob("fwd_full.predictions.npz")
    code, out, _ = desk.remove("--variant", "none")
    assert str(plain) in out and len(kept()) == 2  # shown before anybody agrees
    (of_another,) = (desk.root / "runs").rglob("fwd_full@*.predictions.npz")
    of_another.write_bytes(plain.read_bytes())
    code, out, _ = desk.remove("--dataset", "toy", "--yes", "--json")
    assert code == 0 and json.loads(out)["predictions"] == [str(plain)] and kept() == [of_another.name]


def test_a_fit_goes_with_the_last_record_that_comes_from_it(desk):
    desk.run()
    desk.run("--set", "shift=1")
    desk.run("--set", "steps=7")
    assert len(desk.fits()) == 2
    desk.remove("--variant", "shift=1.0", "--fits", "--yes")
    assert len(desk.fits()) == 2  # the plain record has the same one
    code, out, _ = desk.remove("--variant", "steps=7", "--fits", "--yes")
    assert code == 0 and "2 removed" in out and len(desk.fits()) == 1
    desk.remove("--method", "learn", "--fits", "--yes")
    assert desk.fits() == [] and desk.names() == []


def test_a_record_that_another_process_is_at_stays(desk):
    desk.run(method="learn,odd")
    lock = desk.folder / ".learn-s0.json.lock"
    program = f"import fcntl; f = open({str(lock)!r}, 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        code, _, err = desk.remove("--dataset", "toy", "--yes")
        holder.kill()
    assert code == 1 and "another process is at it" in err
    assert "learn-s0.json" in desk.names() and "odd-s0.json" not in desk.names()


def test_a_terminal_is_asked(desk, monkeypatch):
    desk.run()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer, names in (("n", ["learn-s0.json"]), ("", ["learn-s0.json"]), ("y", [])):
        monkeypatch.setattr("builtins.input", lambda prompt, answer=answer: answer)
        desk.remove("--method", "learn")
        assert desk.names() == names
