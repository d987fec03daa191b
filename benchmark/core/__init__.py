"""The few values that cross folders, and who makes them.

    Dataset  ->  Task           ->  Method         ->  running, scoring
    fields       what is seen       fit, predict       score, record, leaderboard

Fields are plain tensors in physical units, channels last: `(B, T, H, W, C)`, with H along x and W along y.
Everything is checked at construction, so a wrong shape is reported where it was made.
"""

from benchmark.core.dataset import Dataset, Layout, Sizes, Split
from benchmark.core.draws import keyed_generator
from benchmark.core.equation import Equation
from benchmark.core.grid import Boundary, Grid
from benchmark.core.keeper import Keeper
from benchmark.core.method import Kind, Memory, Method, Run, Scope, Work
from benchmark.core.problem import Prediction, Problem, RollOut
from benchmark.core.task import Task
from benchmark.core.trajectories import Trajectories, TrajectorySet

__all__ = [
    "Boundary",
    "Dataset",
    "Equation",
    "Grid",
    "Keeper",
    "Kind",
    "Memory",
    "Layout",
    "Method",
    "Prediction",
    "Problem",
    "RollOut",
    "Run",
    "Scope",
    "Sizes",
    "Split",
    "Task",
    "Trajectories",
    "TrajectorySet",
    "Work",
    "keyed_generator",
]
