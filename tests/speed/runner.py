"""What the runner adds to a 60 s cell: `python -m tests.speed.runner` (`--seconds 10` for a shorter one).

A method that takes a given time to fit and to predict, run twice in one command. The second cell shows what the runner
itself adds (data, scoring, record, messages); the whole command also pays for starting two interpreters with torch.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.running.pool import Event, execute
from tests.speed.measure import parser, report, sized, warn_if_busy

PLUGIN = """
import time
from dataclasses import dataclass
import torch
from benchmark.core import Method, Prediction

@dataclass(frozen=True)
class Settings:
    seconds: float = 60.0

class Slow(Method):
    profiles = {{"laptop": Settings({seconds}), "smoke": Settings({seconds})}}
    def fit(self, train, valid, tasks, seed, run):
        began = time.perf_counter()
        while time.perf_counter() - began < self.settings.seconds / 2:
            run.progress("fit", (time.perf_counter() - began) / self.settings.seconds)
            train[:64].u.mean()
        self.mean_ = torch.zeros(1)
        return self
    def predict(self, problem, seed, samples=1):
        time.sleep(self.settings.seconds / 2)
        return Prediction(problem.values[None].clone())

METHODS = {{"slow": Slow}}
"""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=sized(60.0, 0.5))
    seconds = options.parse_args().seconds
    warn_if_busy()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slow.py").write_text(PLUGIN.format(seconds=seconds))
        places = {kind: folder / kind for kind in ("results", "runs", "data")}
        profile, plugins = sized("laptop", "smoke"), (folder / "slow.py",)
        request = Request(("slow",), ("cont_1", "cont_3"), profile=profile, plugins=plugins, **places)
        moments: dict[tuple[str, str], float] = {}

        def note(event: Event) -> None:
            moments[event.cell.task, event.kind] = time.perf_counter()

        records = execute(request, plan(request), note)
    second = records[1]
    cost = second.cost
    work = cost["fit_seconds"] + cost["predict_seconds"] * len(second.headline.values)
    task = second.cell.task
    added = moments[task, "end"] - moments[task, "start"] - work
    print(f"fit and predict {work:.2f} s, the runner added {added:.2f} s")
    report([(f"added to a cell of {work:.0f} s, percent", 100 * added / work, "<= 2")])


if __name__ == "__main__":
    main()
