"""What Slurm says of our jobs: one `squeue` for all of them, which needs no accounting.

A job that has ended is listed for some minutes (MinJobAge) and then forgotten.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

FIELDS = {"array": "%F", "index": "%K", "name": "%j", "state": "%T", "reason": "%r"}
ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
         "REVOKED", "TIMEOUT")  # fmt: skip
RUNNING = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING")
NAME = re.compile(r"benchmark-[0-9a-f]{8}")  # of a batch, and so of its jobs

Place = tuple[str, int]  # the batch, and the place in it


@dataclass(frozen=True)
class Job:
    id: str  # "12", or "12_3" in an array
    state: str  # Slurm's word
    reason: str = ""  # why it waits

    @property
    def is_active(self) -> bool:
        return self.state not in ENDED

    @property
    def is_running(self) -> bool:
        return self.state in RUNNING


def has_slurm() -> bool:
    return shutil.which("squeue") is not None


def read_queue() -> Mapping[Place, Job] | str:
    """Every job of ours that Slurm knows, by its place; or why it does not answer."""
    user = pwd.getpwuid(os.getuid()).pw_name
    form = "|".join(FIELDS.values())
    command = ["squeue", f"--user={user}", "--array", "--states=all", "--noheader", f"--format={form}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"squeue: {error}"
    if answer.returncode:
        return answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"squeue: {answer.returncode}"
    return parse_queue(answer.stdout)


def parse_queue(text: str) -> dict[Place, Job]:
    """Lines of `squeue`; jobs that are not ours are left out."""
    found = {}
    for line in text.splitlines():
        parts = dict(zip(FIELDS, line.split("|"), strict=False))
        if len(parts) < len(FIELDS) or not NAME.fullmatch(parts["name"]):
            continue
        in_array = parts["index"].isdigit()
        job = f"{parts['array']}_{parts['index']}" if in_array else parts["array"]
        found[parts["name"], int(parts["index"]) if in_array else 0] = Job(job, parts["state"], parts["reason"])
    return found
