from dataclasses import replace

import pytest
import torch

from methods.blocks.roll_out import roll_out
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

DATA = HeatDataset.small(long_frames=9)


def count_up(problem):
    """Each frame is one more than the last: shows which frames were kept."""
    steps = torch.arange(float(problem.values.shape[1])).view(1, -1, 1, 1, 1)
    return problem.values[:, :1] + steps


def long_problem(rule="drop"):
    problem = replace(tasks.LONG_RANGE, roll_out=rule).observe(DATA.trajectories("test", 1, frames=9), generators(1))
    problem.values.zero_()
    return problem


@pytest.mark.parametrize(
    "window, expected", [("drop", [0, 1, 2, 3, 4, 5, 6, 7, 8]), ("keep", [0, 1, 2, 3, 3, 4, 5, 6, 6])]
)
def test_the_repeated_frame_is_dropped_or_kept(window, expected):
    video = roll_out(count_up, long_problem(window), frames=4)
    assert video[0, :, 0, 0, 0].tolist() == expected


def test_windows_of_an_exact_model_join_into_the_exact_trajectory():
    test = DATA.trajectories("test", 2, frames=9)
    problem = tasks.LONG_RANGE.observe(test, generators(2))
    video = roll_out(lambda p: p.equation.solve(p.values[:, 0], None, p.grid), problem, frames=4)
    torch.testing.assert_close(video, test.u, rtol=1e-4, atol=1e-5)


def test_later_observations_and_unknown_rules_are_refused():
    seen = tasks.INV_FULL.observe(DATA.trajectories("test", 1, frames=9), generators(1))
    with pytest.raises(ValueError, match="first 4 frames only"):
        roll_out(count_up, seen, frames=4)
    with pytest.raises(ValueError, match="drop or keep, got 'half'"):
        long_problem("half")
