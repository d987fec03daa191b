"""What a run shows while it goes on."""

import io

from rich.console import Console

from benchmark.cli.live import Live, make_bars, outcome
from benchmark.records.cell import Cell
from benchmark.records.folders import log_path
from benchmark.records.record import Record
from benchmark.running.pool import Event

CELL = Cell("fno", "cont_3", "navier_stokes", "smoke", 0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_goes_on_after_the_data_is_there(monkeypatch):
    """A phase that ends at 1 must not end the bar: its times would stand still from then on."""
    monkeypatch.setattr("sys.stderr", Terminal())
    live = Live(1).__enter__()
    bars = live.bars
    for message, fraction in (("", 0.0), ("data: train", 0.5), ("data: train", 1.0), ("data: valid", 1.0)):
        live(Event("progress", CELL, message, fraction))
    (bar,) = bars.tasks  # one cell has one bar
    assert not bar.finished and bar.description == "fno cont_3 navier_stokes: data: valid"
    before = bar.start_time
    live(Event("progress", CELL, "step 1/4", 0.25))
    assert not bar.finished and bar.completed == 0.25 and bar.start_time > before
    live(Event("progress", CELL, "step 2/4", 0.5))
    live(Event("progress", CELL, "step 3/4", 0.75))
    assert bar.time_remaining is not None
    live(Event("end", CELL, record=Record(CELL, "failed", "x"), done=1, total=1))
    assert not bars.tasks
    live.__exit__(None, None, None)


def test_times_are_shown_in_full_on_a_narrow_terminal():
    bars = make_bars()
    bars.add_task("a method with a long name x a task x a dataset: step 20/40, loss 0.87, 0:04 left", total=1.0)
    with (console := Console(width=80, force_terminal=True, color_system=None)).capture() as shown:
        console.print(bars)
    (line,) = shown.get().splitlines()
    assert "0:00:00" in line and "-:--:-- left" in line and "…" in line


def test_a_failure_names_its_place_and_its_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    traceback = (
        'Traceback (most recent call last):\n  File "/x/lib/runner.py", line 3, in run\n'
        f'  File "{tmp_path}/mine.py", line 31, in fit\n    lost()\n'
        '  File "/venv/lib/python3/site-packages/torch/nn.py", line 9, in lost\nKeyError: 1\n'
    )
    record = Record(CELL, "failed", "KeyError: 1", traceback)
    assert outcome(record, "", tmp_path).endswith("failed, not run: KeyError: 1 (mine.py:31)")
    log = log_path(tmp_path, CELL)
    log.parent.mkdir(parents=True)
    log.touch()
    assert outcome(record, "", tmp_path).endswith(f"(mine.py:31, log {log})")
    assert "log" not in outcome(Record(CELL, "unsupported", "no"), "", tmp_path)
