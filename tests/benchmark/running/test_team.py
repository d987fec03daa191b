"""Real processes, started by torchrun or as srun starts them, that share the fits of a run."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmark.errors import UserError
from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.files import read_record
from benchmark.running.pool import execute
from benchmark.running.team import Team, check_team
from tests.benchmark.support import gone

ROOT = Path(__file__).parents[3]
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m")
ALONE = (sys.executable, "-m")
TORCHRUN_ENVIRONMENT = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "here", "MASTER_PORT": "1"}
SRUN_ENVIRONMENT = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "4"}


@pytest.fixture
def outside(monkeypatch):
    """No launcher has started us."""
    for name in [name for name in os.environ if name.startswith(("SLURM_", "TORCHELASTIC_"))] + ["RANK", "WORLD_SIZE"]:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def start(launcher, root, data, *arguments, **environment):
    command = [*launcher, "benchmark", "run", *arguments, "--profile", "smoke", "--device", "cpu"]
    command += ["--output", root / "results", "--runs", root / "runs", "--data", data]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stderr=subprocess.PIPE, text=True)


def ended(process, seconds=180):
    """Its exit code and what it said; nothing may hang."""
    said = process.communicate(timeout=seconds)[1]
    return process.returncode, said


def fit_folder(root, method):
    (folder,) = root.glob(f"runs/smoke/navier_stokes/{method}-s0/*-*/")
    return folder


def record(root, method):
    (path,) = root.glob(f"results/smoke/navier_stokes/*/{method}*-s0.json")
    return read_record(path)


# -- who is there


def test_who_is_there_is_what_the_launcher_says(outside):
    assert Team.here() is None
    outside.setenv("SLURM_NTASKS", "4")  # of a batch script, which is one process
    assert Team.here() is None
    for name, value in SRUN_ENVIRONMENT.items():
        outside.setenv(name, value)
    outside.setenv("SLURM_STEP_NODELIST", "gpu[07-09]")
    assert Team.here() == Team(3, 4, 1, "gpu07", 20_000 + 31 * 7)
    for name, value in TORCHRUN_ENVIRONMENT.items():  # within srun: torchrun is nearer
        outside.setenv(name, value)
    assert Team.here() == Team(1, 2, 1, "here", 1)
    outside.setenv("WORLD_SIZE", "1")
    assert Team.here() is None


def test_a_team_shares_each_fit_and_takes_a_device_each(outside):
    check_team(2, "cuda:1")
    for name, value in TORCHRUN_ENVIRONMENT.items():
        outside.setenv(name, value)
    check_team(1, "cuda")
    with pytest.raises(UserError, match="--jobs 2: the 2 processes of torchrun or srun share each fit"):
        check_team(2, "cpu")
    with pytest.raises(UserError, match="each of the 2 processes takes a device of its own"):
        check_team(1, "cuda:1")


# -- what they make


def test_two_processes_make_what_one_makes(tmp_path):
    one, two, data = tmp_path / "one", tmp_path / "two", tmp_path / "data"
    request = Request(("fno",), ("fwd_full",), profile="smoke", device="cpu", overrides=("training.steps=8",),
                      results=one / "results", runs=one / "runs", data=data)  # fmt: skip
    execute(request, plan(request))
    code, said = ended(start(TORCHRUN, two, data, "--method", "fno", "--task", "fwd_full", "--set", "training.steps=8"))
    assert code == 0, said
    alone, shared = record(one, "fno"), record(two, "fno")
    assert (alone.state, shared.state, shared.key) == ("done", "done", alone.key)
    assert shared.headline.mean == pytest.approx(alone.headline.mean, rel=1e-4)
    assert (shared.cost["steps"], shared.cost["processes"], alone.cost.get("processes")) == (8, 2, None)
    assert alone.cost["fit_flop"] == pytest.approx(shared.cost["fit_flop"], rel=0.01)
    weights = [load_file(fit_folder(root, "fno") / "state.safetensors") for root in (one, two)]
    for name, value in weights[0].items():
        if name != "flop_":
            torch.testing.assert_close(weights[1][name], value, rtol=1e-3, atol=1e-5)
    assert said.count("rel_l2") == 1  # the first process alone speaks


@pytest.mark.ddp
def test_fits_follow_each_other_and_methods_without_one_go_on_alone(tmp_path):
    methods = ("--method", "videopde,ablation_latent,nearest,pino", "--task", "fwd_full,cont_3")
    code, said = ended(start(TORCHRUN, tmp_path, tmp_path / "data", *methods), 400)
    assert code == 0, said
    records = [read_record(path) for path in tmp_path.glob("results/smoke/navier_stokes/*/*.json")]
    states = {(r.cell.method, r.cell.task): (r.state, r.cost.get("processes")) for r in records}
    assert states.pop(("pino", "cont_3")) == ("unsupported", None)
    assert len(states) == 7
    for (method, _), state in states.items():
        assert state == ("done", None if method == "nearest" else 2)


@pytest.mark.ddp
def test_tasks_of_srun_are_a_team_too(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        job = (free.getsockname()[1] - 20_000) % 10_000
    tasks = []
    for rank in ("1", "0"):  # whoever comes first waits
        names = {"PROCID": rank, "LOCALID": rank, "STEP_NUM_TASKS": "2", "JOB_ID": "0", "STEP_ID": str(job),
                 "STEP_NODELIST": "127.0.0.1"}  # fmt: skip
        environment = {f"SLURM_{name}": value for name, value in names.items()}
        tasks.append(start(ALONE, tmp_path, tmp_path / "data", "--method", "fno", "--task", "fwd_full", **environment))
    assert [ended(task)[0] for task in tasks] == [0, 0]
    assert record(tmp_path, "fno").cost["processes"] == 2


@pytest.mark.ddp
def test_a_wrong_command_ends_all_of_them(tmp_path):
    code, said = ended(start(TORCHRUN, tmp_path, tmp_path / "data", "--method", "fnoo", "--task", "fwd_full"), 120)
    assert code != 0 and "did you mean fno" in said


# -- when one of them dies

LONG = ("--method", "fno", "--task", "fwd_full", "--set", "training.steps=250")
LONG += ("--set", "training.checkpoint_seconds=0.1")


def pids(root, rank):
    """Of a process and of its worker, as the worker's log says."""
    log = root / f"runs/smoke/navier_stokes/fno-s0/fwd_full{'.1' * rank}.log"
    worker = int(re.findall(r"process (\d+)", log.read_text())[-1])
    parent = int(re.findall(r"PPid:\s+(\d+)", Path(f"/proc/{worker}/status").read_text())[0])
    return parent, worker


def wait_for_checkpoint(root, process):
    end = time.monotonic() + 180
    while not list(root.glob("runs/smoke/navier_stokes/fno-s0/*/checkpoint-*[0-9]")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "stuck before it could be killed"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    assert ended(start(TORCHRUN, root, root / "data", *LONG))[0] == 0
    return root


@pytest.mark.ddp
@pytest.mark.parametrize("whom", ["worker 0", "worker 1", "process 1", "all"])
def test_after_a_kill_all_end_and_the_same_command_ends_with_the_same_weights(tmp_path, undisturbed, whom):
    process = start(TORCHRUN, tmp_path, undisturbed / "data", *LONG)
    wait_for_checkpoint(tmp_path, process)
    there = {rank: pids(tmp_path, rank) for rank in (0, 1)}
    everyone = [process.pid, *there[0], *there[1]]
    victims = {"worker 0": there[0][1:], "worker 1": there[1][1:], "process 1": there[1][:1], "all": everyone}[whom]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    code, said = ended(process, 90)
    assert code != 0 and gone(everyone)
    if whom == "worker 1":
        failure = record(tmp_path, "fno")
        assert failure.state == "failed" and "process 1 of 2: its worker died (SIGKILL)" in failure.reason, said
    assert not (fit_folder(tmp_path, "fno") / "state.safetensors").exists()
    code, said = ended(start(TORCHRUN, tmp_path, undisturbed / "data", *LONG))
    assert code == 0, said
    same = [(fit_folder(root, "fno") / "state.safetensors").read_bytes() for root in (tmp_path, undisturbed)]
    assert same[0] == same[1]
    assert record(tmp_path, "fno").metrics == record(undisturbed, "fno").metrics
