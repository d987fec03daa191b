"""What cells ask for, also as the page says it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.errors import UserError
from benchmark.planning.estimate import Estimate
from benchmark.planning.plan import PlannedCell
from benchmark.records.cell import Cell
from benchmark.records.record import About
from benchmark.running.slurm.resources import Cluster, minutes
from benchmark.running.slurm.submit import sbatch_parameters
from tests.benchmark.support import TOY

PAGE = Path(__file__).parents[4] / "CLUSTER.md"
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def planned(method="videopde", profile="paper", kind="learned", seconds=None, memory_mb=0.0, flop=None):
    cell = Cell(method, "cont_3", "navier_stokes", profile, 0)
    about = About(kind, False, "task")
    return PlannedCell(cell, "missing", "run", estimate=Estimate(seconds, memory_mb, 0.0, "", flop), about=about)


def cluster(tmp_path, text):
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    return Cluster.read(path)


def test_later_entries_win_key_by_key(tmp_path):
    found = cluster(
        tmp_path,
        "partition: gpu\ncpus: 8\ncells:\n"
        "  - {profile: paper, gpus: 2, time: 1d}\n"
        "  - {method: [videopde, fno], profile: paper, gpus: 4}\n"
        "  - {method: kriging, gpus: 0}\n",
    )
    own = found.of(planned())
    assert (own.partition, own.cpus, own.gpus, own.time) == ("gpu", 8, 4, "1d")
    assert found.of(planned("kriging")).gpus == 0 and found.of(planned("kriging")).time == "1d"
    assert found.of(planned("videopde", "laptop", seconds=300)).gpus == 0


def test_what_is_not_said_follows_from_the_plan():
    none = Cluster.read(None)
    laptop = none.of(planned(profile="laptop", seconds=900.0, memory_mb=3000.0))
    assert (laptop.gpus, laptop.mem, laptop.time) == (0, "6G", "60m")
    paper = none.of(planned(memory_mb=60_000.0))
    assert (paper.gpus, paper.mem, paper.time) == (1, "89G", "1440m")
    assert none.of(planned("kriging", kind="reference")).gpus == 0
    assert none.of(planned(), device="cpu").gpus == 0 and none.of(planned(profile="laptop"), device="cuda").gpus == 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("gpu: 1", "did you mean gpus"),
        ("gpus: two", "gpus: expected"),
        ("time: 24:00:00", "86400 has no unit; write 12h or 2d"),
        ("time: soon", "expected 90m, 12h, 2d"),
        ("mem: 32", "32 has no unit; write 32G"),
        ("mem: lots", "like 500M or 32G"),
        ("cpus: 0", "cpus: expected 1 or more"),
        ("sbatch: {exclusive: no}", "sbatch: expected options like"),
        ("sbatch: exclusive", "sbatch: expected dict"),
        ("cells: {method: fno}", "cells: expected a list"),
        ("cells: [{gpus: 1}]", "says for no cells"),
        ("cells: [{method: 3}]", "expected a name or a list of names"),
        ("cells: [{method: fno, gpu: 1}]", "cells[0]"),
        ("cells: [{method: fnoo}]", "cells[0]: method: unknown method 'fnoo' (did you mean fno"),
        ("cells: [{method: [fno, mine]}]", "needs --plugin FILE"),
        ("cells: [{profile: papers}]", "unknown profile 'papers' (did you mean paper?)"),
        ("gpu_type: K80", "gpu_type: GPU 'K80' is not known; expected one of L40S"),
        ("{time: 90m, warning: 5400}", "warning: expected less than the time, 90m, got 5400 seconds"),
        ("time: 1m", "warning: expected less than the time"),
        (f"time: {'9' * 400}d", "expected 90m, 12h, 2d"),
        (f"time: '{'9' * 400}:00:00'", "expected 90m, 12h, 2d"),
        ("- gpus", "expected a mapping"),
        ("1: 2", "unknown key 1"),
    ],
)
def test_a_bad_file_gets_a_message(tmp_path, text, message):
    with pytest.raises(UserError) as error:
        cluster(tmp_path, text)
    assert message in str(error.value) and "cluster.yaml" in str(error.value)


@pytest.mark.parametrize(
    "time, expected",
    [
        ("90m", 90), ("1.5h", 90), ("2d", 2880), ("0.1m", 1),
        ("30:00", 30), ("30:01", 31), ("24:00:00", 1440), ("1-12", 2160), ("1-12:30", 2190), ("1-12:00:00", 2160),
    ],
)  # fmt: skip
def test_times(time, expected):
    """As Slurm reads them; what it rounds up too."""
    assert minutes(time) == expected


def test_a_rule_may_name_what_a_plugin_brings(tmp_path):
    path = tmp_path / "cluster.yaml"
    path.write_text("cells: [{method: learn, dataset: toy, cpus: 2}]")
    assert Cluster.read(path, [TOY]).rules[0].which == {"method": ("learn",), "dataset": ("toy",)}


def test_a_forecast_chooses_the_time_of_what_has_a_gpu(tmp_path):
    found = cluster(tmp_path, "gpu_type: L40S\ncells: [{method: fno, gpus: 0}, {method: deeponet, gpu_type: A100}]")
    minute, hour = (found.of(planned(seconds=s, flop=1e15)).time for s in (60.0, 3600.0))
    assert (minute, hour, found.of(planned(seconds=1e6, flop=1e15)).time) == ("30m", "120m", "1440m")
    assert found.of(planned("fno", seconds=60.0, flop=1e15)).time == "1440m"  # it is of a GPU
    assert [found.changes(planned(m).cell)["gpu_type"] for m in ("videopde", "deeponet")] == ["L40S", "A100"]


def test_a_job_is_told_well_before_a_time_that_nobody_said(tmp_path):
    assert cluster(tmp_path, "warning: 3600").of(planned(profile="laptop", seconds=1.0)).time == "120m"


def test_what_sbatch_is_given(tmp_path):
    resources = cluster(tmp_path, "{gpus: 2, time: 2h, mem: 8G, turns: 3, sbatch: {exclude: node7}}").of(planned())
    given = sbatch_parameters(resources, "benchmark-00000000", "12_3")
    assert given["dependency"] == "afterany:12_3" and given["time"] == 120 and given["gpus_per_node"] == 2
    assert given["additional_parameters"] == {"requeue": True, "exclude": "node7"}
    assert sbatch_parameters(replace(resources, gpus=0), "benchmark-00000000", "")["gpus_per_node"] is None


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_page_is_read(tmp_path, example):
    found = cluster(tmp_path, example)
    for method, profile in (("kriging", "laptop"), ("videopde", "paper"), ("fno", "paper")):
        found.of(planned(method, profile))


def test_the_page_has_examples():
    assert EXAMPLES
