"""On a real Slurm: what is queued, shared, preempted, out of time, cancelled, and what comes out of it."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from tests.benchmark.support import TOY
from tests.slurm.support import LONG, lengthened, restarts, shell, slow, toy, until

pytestmark = pytest.mark.slurm


def test_jobs_give_the_records_of_a_local_run(desk):
    """Cells that share a fit make it once, and one that fails takes no other with it."""
    desk.cluster()
    cells = toy("mean,learn,odd_error", "fwd_full,cont_3")
    first = desk.submitted(desk.arguments(*cells))
    assert first["cells"] == first["submitted"] == 6
    states = desk.status()
    assert all(row["state"] in ("queued", "running", "done") for row in states.values())
    assert states["learn cont_3"]["message"] == "Dependency"

    again = desk.submitted(desk.arguments(*cells))  # while they wait and work
    assert again["submitted"] == 0 and again["jobs"] == {}

    code, out, err = desk(*desk.arguments(*cells))
    assert code == 1 and "[6/6]" in err
    log = (desk.folder / "toy.log").read_text().splitlines()
    assert sum(line.startswith("fit ") for line in log) == 1

    ended = desk.status()
    assert {name for name, row in ended.items() if row["state"] == "done"} == set(ended) - {
        "odd_error fwd_full", "odd_error cont_3"
    }  # fmt: skip
    assert ended["odd_error cont_3"]["state"] == "failed"
    desk(*desk.arguments(*cells, on="local", executor="local"))
    cluster, local = desk.records("slurm"), desk.records("local")
    assert {name: r for name, r in cluster.items() if r.state == "done"} == {
        name: r for name, r in local.items() if r.state == "done"
    }
    assert {name: r.reason for name, r in cluster.items()} == {name: r.reason for name, r in local.items()}

    logs = desk("status", "--results", str(desk.folder / "slurm/results"), "--runs", str(desk.folder / "slurm/runs"),
                "--logs", "learn/fwd_full")  # fmt: skip
    assert "fwd_full.log" in logs[1] and "Job completed successfully" in logs[1]


def interrupted(desk, interrupt, cluster=""):
    """A fit that is slow until its job has been put back into the queue; its record and that of a quiet run."""
    (desk.folder / "slow").touch()
    desk.cluster(cluster)
    (job,) = desk.submitted(desk.arguments(*slow(desk.folder)))["jobs"]
    until(lambda: list(desk.folder.glob("slurm/runs/*/*/*/*/checkpoint-*")))
    row = until(lambda: next((r for r in desk.status().values() if r["fraction"] and r["seconds_left"]), None))
    assert row["state"] == "running" and row["where"] == f"job {job}" and "left" in row["message"]
    interrupt()
    until(lambda: restarts(job) > 0)
    until(lambda: lengthened(job))  # a busy machine may need longer than a minute
    (desk.folder / "slow").unlink()
    assert desk.states() in ({"slow_unet cont_3": "queued"}, {"slow_unet cont_3": "running"})
    code, _, err = desk(*desk.arguments(*slow(desk.folder)))
    assert code == 0, err

    steps = (desk.folder / "steps").read_text().split()
    turns = [steps.count(process) for process in dict.fromkeys(steps)]
    assert len(turns) > 1 and turns[-1] < 60 < sum(turns) + 60  # the last one has not begun anew
    desk(*desk.arguments(*slow(desk.folder), on="local", executor="local"))
    assert desk.records("slurm") == desk.records("local")


def test_a_fit_that_is_preempted_goes_on(desk):
    def preempt():
        shell("sbatch", "--partition=high", "--exclusive", "--mem=100M", f"--chdir={desk.folder}", "--wrap=sleep 1")

    interrupted(desk, preempt, "partition: low\n")


def test_a_fit_whose_time_is_up_goes_on(desk):
    interrupted(desk, lambda: None, "cells:\n  - {method: slow_unet, time: 1m, warning: 20}\n")


def test_time_is_up_for_the_last_time(desk):
    (desk.folder / "slow").touch()
    desk.cluster("cells:\n  - {method: slow_unet, time: 1m, warning: 20, turns: 0}\n")
    code, _, err = desk(*desk.arguments(*slow(desk.folder)))
    assert code == 1 and "timeout" in err
    assert "the time limit of its job" in desk.records("slurm")["slow_unet cont_3"].reason


def test_what_waits_can_be_waited_for_changed_and_cancelled(desk):
    desk.cluster("sbatch: {hold: true}\n")
    mean = desk.arguments(*toy("mean", "fwd_full"))
    (job,) = desk.submitted(mean)["jobs"]
    assert desk.status()["mean fwd_full"] | {"state": "queued", "where": f"job {job}"} == desk.status()["mean fwd_full"]

    code, _, err = desk(*mean, "--set", "dataset.scale=2", "--no-wait")  # another record, beside it
    assert code == 0 and "submitted job" in err
    with TOY.open() as file:  # the same record, from another source
        other = desk.folder / "toy.py"
        other.write_text(file.read() + "\n# changed\n")
    changed = [str(other) if argument == str(TOY) else argument for argument in mean]
    code, _, err = desk(*changed)
    assert code == 2 and f"scancel {job}" in err

    waiting = subprocess.Popen([sys.executable, "-m", "benchmark", *mean], stderr=subprocess.PIPE, text=True)
    threading.Timer(12, waiting.send_signal, [signal.SIGINT]).start()
    _, err = waiting.communicate(timeout=LONG)
    assert waiting.returncode == 130 and "the jobs stay in the queue" in err
    assert desk.states()["mean fwd_full"] == "queued"

    threading.Timer(4, shell, ["scancel", job]).start()
    code, _, err = desk(*mean)
    assert code == 1 and f"job {job} was cancelled" in err
    assert desk.states()["mean fwd_full"] == "failed"


def test_a_cancelled_job_is_submitted_anew(desk):
    desk.cluster("sbatch: {hold: true}\n")
    mean = desk.arguments(*toy("mean", "fwd_full"))
    (job,) = desk.submitted(mean)["jobs"]
    shell("scancel", job)
    until(lambda: desk.states() == {"mean fwd_full": "cancelled"})
    desk.cluster()
    (second,) = desk.submitted(mean)["jobs"]
    assert second != job
    until(lambda: desk.states() == {"mean fwd_full": "done"})


def test_tasks_of_a_job_share_its_fit(desk):
    desk.cluster("tasks_per_node: 2\n")
    unet = ["--method", "voronoi_unet", "--task", "cont_3"]
    code, _, err = desk(*desk.arguments(*unet))
    assert code == 0, err
    (job,) = desk.folder.glob("slurm/runs/slurm/*")
    assert len(list(job.glob("*_log.out"))) == 2
    desk(*desk.arguments(*unet, on="local", executor="local"))
    shared, alone = (desk.records(on)["voronoi_unet cont_3"].headline.values for on in ("slurm", "local"))
    assert shared == pytest.approx(alone, rel=1e-3) and shared != alone  # sums in another order


def test_slurm_refuses(desk):
    desk.cluster("partition: gpu\n")
    code, _, err = desk(*desk.arguments(*toy("mean", "fwd_full")))
    assert code == 2 and "invalid partition" in err and "Traceback" not in err
    assert not list(desk.folder.glob("slurm/runs/slurm/*"))


def test_json_is_one_document(desk):
    desk.cluster()
    code, out, err = desk(*desk.arguments(*toy("mean", "fwd_full")), "--json")
    assert code == 0 and [r["state"] for r in json.loads(out)["records"]] == ["done"] and not err
