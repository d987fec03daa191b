"""Several processes that make the fits of one run together.

    torchrun --nproc-per-node 4 -m benchmark run --method videopde --task cont_3 --profile paper
    srun --ntasks-per-node 4 --gpus-per-task 1 --kill-on-bad-exit=1 python -m benchmark run ...

start the same command several times. Process 0 plans, locks, evaluates and writes as if it were alone. The others wait
(`helper.py`) and take their part of each fit whose method can share one (`Method.shares_fits`): as many devices, the
same batches, the same weights to rounding. They talk through a store, torchrun's own or one that process 0 keeps:

    fits          how many fits were begun
    fit/<n>       the n-th: its cell. All else each process has from its own command line, for anybody who reaches the
                  port can write here
    failed/<n>    who could not go on with it, and why; then all give it up
    over          the run has ended

A process that dies takes its connections with it, so that the others fail at once; one that is stuck is given up after
`PATIENCE`. The fit's cell is then `failed`, and the same command goes on from the last checkpoint.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from benchmark.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch.distributed import Store  # pyright: ignore[reportPrivateImportUsage]

    from benchmark.planning.request import Request
    from benchmark.records.cell import Cell

PATIENCE = timedelta(minutes=10)  # for the slowest process, at any point of a fit
GRACE = 5.0  # seconds for a process to notice by itself that another one has failed
FAREWELL = 10.0  # seconds for the others to hear that the run is over, before the store closes
LOOK = 0.5  # seconds between looks at the store


class TeamError(RuntimeError):
    """Another process ended a fit that this one took part in."""


@dataclass(frozen=True)
class Team:
    """This process among those that were started together."""

    rank: int
    world: int
    local_rank: int  # among those of its node
    host: str  # of the store
    port: int
    kept: bool = False  # the store, by torchrun; else by process 0
    attempt: str = "0"  # torchrun may start all of them again, with the same store

    @classmethod
    def here(cls) -> Self | None:
        """As torchrun or Slurm's srun says; None: this process is alone."""
        e = os.environ
        if {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= e.keys():
            kept, attempt = e.get("TORCHELASTIC_USE_AGENT_STORE") == "True", e.get("TORCHELASTIC_RESTART_COUNT", "0")
            rank, world, local = (int(e.get(name, 0)) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
            team = cls(rank, world, local, e["MASTER_ADDR"], int(e["MASTER_PORT"]), kept, attempt)
        elif "SLURM_STEP_NUM_TASKS" in e:  # srun's: a batch script has SLURM_NTASKS too, but is one process
            rank, world, local = (int(e[f"SLURM_{name}"]) for name in ("PROCID", "STEP_NUM_TASKS", "LOCALID"))
            team = cls(rank, world, local, *_slurm_address(e)) if world > 1 else None
        else:
            return None
        return team if team is not None and team.world > 1 else None

    def store(self, room: str = "", keep: bool = False) -> Store:
        from torch.distributed import PrefixStore, TCPStore  # pyright: ignore[reportPrivateImportUsage]

        store = TCPStore(self.host, self.port, is_master=keep, wait_for_workers=False, timeout=PATIENCE)
        return PrefixStore(f"benchmark/{self.attempt}/{room}", store)

    @contextmanager
    def led(self) -> Iterator[None]:
        """By process 0: at the end the others are let go."""
        store = self.store(keep=not self.kept)
        try:
            yield
        finally:
            store.set("over", "")
            end = time.monotonic() + FAREWELL
            while not self.kept and store.add("left", 0) < self.world - 1 and time.monotonic() < end:
                time.sleep(0.05)

    @contextmanager
    def joined(self, number: int, device: torch.device) -> Iterator[None]:
        """One process group for fit `number`. After a failure the group is left as it is: this process should end."""
        import torch.distributed as dist

        store, backend = self.store(), "nccl" if device.type == "cuda" else "gloo"
        with _watched(self, f"failed/{number}"):
            try:
                group = self.store(f"group/{number}")
                dist.init_process_group(backend, store=group, rank=self.rank, world_size=self.world, timeout=PATIENCE)
                yield
            except Exception as error:
                raise self._whose(error, store, f"failed/{number}") from error
            dist.destroy_process_group()

    def _whose(self, error: Exception, store: Store, key: str) -> Exception:
        """The error to raise: another process's, if ours is only that we lost it."""
        if is_lost_connection(error):
            with suppress(RuntimeError):  # nobody says why
                store.wait([key], timedelta(seconds=GRACE / 2))
        first = store.compare_set(key, "", f"process {self.rank} of {self.world}: {type(error).__name__}: {error}")
        text = first.decode()
        if not is_lost_connection(error):
            return error
        mine = text.startswith(f"process {self.rank} of ")
        return TeamError(f"another process of the fit has ended ({error})" if mine else text)


def as_team(lead: Callable[[], int], requests: Callable[[], Iterable[Request]]) -> int:
    """`lead` alone, or as process 0 of a team; the other processes help with its fits until it is done.

    `requests`: what this process was started for, and so helps with.
    """
    team = Team.here()
    if team is None:
        return lead()
    if team.rank:
        from benchmark.running.helper import Helper

        return Helper(team, requests).serve()
    with team.led():
        return lead()


@contextmanager
def called(cell: Cell, device: torch.device) -> Iterator[int]:
    """By the worker of process 0: what follows is a fit that the whole team is called to; how many processes it has."""
    team = Team.here()
    if team is None:
        yield 1
        return
    store = team.store()
    number = store.add("fits", 1)
    store.set(f"fit/{number}", json.dumps(cell.to_json()))
    with team.joined(number, device):
        yield team.world


def check_team(jobs: int, device: str) -> None:
    """What a run cannot ask for where its fits are shared."""
    team = Team.here()
    if team is None:
        return
    if jobs > 1:
        raise UserError(f"--jobs {jobs}: the {team.world} processes of torchrun or srun share each fit; leave it out")
    if ":" in device:
        raise UserError(f"--device {device}: each of the {team.world} processes takes a device of its own; use cuda")


def is_lost_connection(error: BaseException) -> bool:
    import torch.distributed as dist

    kinds = (dist.DistBackendError, dist.DistNetworkError, dist.DistStoreError)
    return isinstance(error, kinds) or (isinstance(error, RuntimeError) and "gloo" in str(error).lower())


@contextmanager
def _watched(team: Team, key: str) -> Iterator[None]:
    """End this process if another one has given up and we, waiting for it on a GPU, do not notice."""
    done = threading.Event()

    def watch() -> None:
        store = team.store()
        while not done.wait(LOOK):
            if store.check([key]) and not done.wait(GRACE):
                print(f"given up: {store.get(key).decode()}", file=sys.stderr, flush=True)
                os._exit(1)

    threading.Thread(target=watch, name="team", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _slurm_address(e: Mapping[str, str]) -> tuple[str, int]:
    """The node of process 0, and a port that follows from job and step."""
    nodes = e.get("SLURM_STEP_NODELIST") or e.get("SLURM_NODELIST", "127.0.0.1")  # gpu[07-09,12],login
    first = re.sub(r"\[([^],-]+)[^]]*\]", r"\1", nodes).split(",")[0]
    port = 20_000 + (31 * int(e["SLURM_JOB_ID"]) + int(e.get("SLURM_STEP_ID", 0))) % 10_000
    return e.get("MASTER_ADDR") or first, port
