"""A worker that Slurm warns: from its first moment on, the warning is for its parent."""

import signal
import time

import pytest

from benchmark.planning.plan import plan
from benchmark.running import provenance
from benchmark.running.process import WorkerProcess
from tests.benchmark.support import toy_request


@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_a_warning_of_slurm_does_not_end_a_worker(tmp_path, monkeypatch, pause):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    request = toy_request(tmp_path, methods=("mean",))
    hello = {"request": request.to_json(), "since": provenance.now(), "code": {}, "slot": 0, "threads": 1}
    process = WorkerProcess.start(hello, tmp_path / "log")
    try:
        for number in (signal.SIGTERM, signal.SIGUSR2):
            time.sleep(pause)
            process.popen.send_signal(number)
        process.give(plan(request)[0], False, tmp_path / "log")
        deadline, ended = time.monotonic() + 120, []
        while not ended and time.monotonic() < deadline:
            ended = [answer for answer in process.answers() if answer["kind"] == "end"]
            time.sleep(0.05)
        assert ended[0]["record"]["state"] == "done"
        process.popen.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert process.popen.poll() is None
    finally:
        assert process.kill() == -signal.SIGKILL
