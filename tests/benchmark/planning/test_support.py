"""Who may be paired with whom, also where a plugin's task forgets to ask."""

from benchmark.core import Task
from benchmark.planning.support import scored_length, task_unsupported, unsupported
from methods.persistence import Persistence
from tasks import observation as tasks
from tests.methods.heat import HeatDataset

SHORT, LONG = HeatDataset.small(frames=4), HeatDataset.small(frames=4, long_frames=8)


class Forgetful(Task):
    """A plugin's long roll-out that calls itself supported everywhere."""

    name, family, rate = "forgetful", "long_range", 1.0

    def mask(self, grid, generator):
        raise NotImplementedError

    def observe(self, trajectories, generators):
        raise NotImplementedError

    def unsupported(self, dataset):
        return None


def test_long_range_needs_long_trajectories():
    for task in (tasks.LONG_RANGE, Forgetful()):
        assert "no trajectories longer" in (task_unsupported(task, SHORT) or "")
        assert task_unsupported(task, LONG) is None
    assert task_unsupported(tasks.CONT_1, SHORT) is None


def test_the_family_says_how_long_the_scored_trajectories_are():
    assert [scored_length(task, LONG) for task in (tasks.LONG_RANGE, tasks.FWD_FULL)] == [8, 4]


def test_a_method_is_asked_after_the_task():
    assert "no trajectories longer" in (unsupported(Persistence(None), tasks.LONG_RANGE, SHORT) or "")
    assert "every frame is observed" in (unsupported(Persistence(None), tasks.CONT_1, SHORT) or "")
    assert unsupported(Persistence(None), tasks.FWD_FULL, SHORT) is None
