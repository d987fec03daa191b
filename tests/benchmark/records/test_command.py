"""A command is short, and typed as it stands makes the cell."""

from pathlib import Path

from benchmark.records.cell import Cell
from benchmark.records.command import run_command

CELL = Cell("fno", "cont_3", "navier_stokes", "laptop", 0)


def test_what_run_does_untold_is_not_told():
    assert run_command(CELL) == "python -m benchmark run --method fno --task cont_3 --dataset navier_stokes"


def test_everything_else_is():
    cell = Cell("fno", "cont_3", "kolmogorov", "smoke", 3, "wide")
    changes = {"architecture.width": 64, "architecture.kind": "a b", "--limit": 4}
    command = run_command(cell, changes, Path("my results"), Path("r"), ("--overwrite",))
    assert command == (
        "python -m benchmark run --method fno --task cont_3 --dataset kolmogorov --profile smoke --seed 3 "
        "--output 'my results' --runs r --set architecture.width=64 --set 'architecture.kind=\"a b\"' --limit 4 "
        "--name wide --overwrite"
    )
