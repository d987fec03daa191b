from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmark.core import Memory, Method
from benchmark.planning import counts
from benchmark.planning.estimate import PROCESS_MB, Means
from benchmark.planning.plan import changes, plan
from benchmark.planning.registry import PluginError, UnknownName
from benchmark.planning.request import SAMPLES, Request
from benchmark.planning.settings import SettingsError
from benchmark.planning.suites import read_suite
from benchmark.records.cell import PROFILES, Cell
from benchmark.records.files import write_record
from benchmark.records.record import MetricScore, Record
from tests.benchmark.support import toy_request


def states(request: Request) -> dict[str, str]:
    return {p.cell.task: p.state for p in plan(request)}


def store(request: Request, task: str = "fwd_full", state: str = "done", **changes) -> None:
    """A record as a run would leave it."""
    planned = next(p for p in plan(request) if p.cell.task == task)
    metrics = {"rel_l2": MetricScore("%", 1.0, 1.0, 1.0, [1.0])}
    parts = {"settings": planned.settings, "key": planned.key, "metrics": metrics} | changes
    write_record(planned.cell.path(request.results), Record(planned.cell, state, **parts))


def test_every_combination_once_with_shared_fits_together(tmp_path):
    request = toy_request(
        tmp_path,
        methods=("learn", "odd", "learn"),
        tasks=("cont_1", "fwd_full"),
        datasets=("toy", "toy_long"),
        seeds=(0, 1),
    )
    cells = [p.cell for p in plan(request)]
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 2
    assert cells[:2] == [Cell("learn", "cont_1", "toy", "smoke", 0), Cell("learn", "fwd_full", "toy", "smoke", 0)]


def test_states(tmp_path):
    request = toy_request(tmp_path, methods=("learn_task",), tasks=("all",))
    store(request, "cont_1", "done")
    store(request, "cont_3", "failed", reason="KeyError: x")
    store(request, "cont_05", "timeout")
    store(request, "fwd_partial", "oom")
    planned = {p.cell.task: p for p in plan(request)}
    assert {task: p.state for task, p in planned.items()} == {
        "cont_05": "timeout", "cont_1": "done", "cont_3": "failed", "fwd_full": "missing", "inv_full": "unsupported",
        "fwd_partial": "oom", "inv_partial": "unsupported", "long_range": "unsupported",
    }  # fmt: skip
    assert {p.action for p in planned.values() if p.state in ("failed", "timeout", "oom", "missing")} == {"run"}
    assert planned["cont_1"].action == "skip" and planned["cont_3"].reason == "KeyError: x"
    assert planned["inv_full"].action == "write" and planned["inv_full"].reason == "it cannot look back"
    assert "no trajectories longer" in planned["long_range"].reason


def test_overwrite_runs_what_is_done(tmp_path):
    request = toy_request(tmp_path)
    store(request)
    assert plan(request)[0].action == "skip"
    again = plan(replace(request, overwrite=True))[0]
    assert (again.state, again.action) == ("done", "run")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"overrides": ("steps=7",)}, "method.steps: 7 -> 3"),
        ({"overrides": ("dataset.scale=2",)}, "dataset.scale: 2.0 -> 1.0"),
        ({"overrides": ("task.noise=0.1",)}, "task.noise: 0.1 -> 0.0"),
        ({"samples": 3}, "evaluation.samples: 3 -> 2"),
        ({"limit": 2}, "evaluation.trajectories: 2 -> 4"),
        ({"mask_seed": 1}, "evaluation.mask_seed: 1 -> 0"),
    ],
)
def test_whatever_moves_the_numbers_makes_a_record_stale(tmp_path, change, reason):
    """A record of the plain cell that was made in another way, as by an earlier version of the settings."""
    store(toy_request(tmp_path), **made_by(toy_request(tmp_path)))
    assert plan(toy_request(tmp_path))[0].state == "done"
    store(toy_request(tmp_path), **made_by(toy_request(tmp_path, **change)))
    planned = plan(toy_request(tmp_path))[0]
    assert (planned.state, planned.action, planned.reason) == ("stale", "run", reason)


def made_by(request: Request) -> dict:
    planned = plan(request)[0]
    return {"settings": planned.settings, "key": planned.key}


def test_samples_are_the_profile_s_unless_asked_for_and_one_where_there_is_one_answer(tmp_path):
    """`--samples` makes no record of a deterministic method stale."""

    def asked(method, **changes):
        request = toy_request(tmp_path, methods=(method,), **changes)
        return plan(request)[0].settings["evaluation"]["samples"]

    assert [asked("learn"), asked("learn", profile="laptop"), asked("learn", samples=5)] == [2, 8, 5]
    assert [asked("mean"), asked("nearest", samples=5), asked("kriging")] == [1, 1, 2]
    assert [SAMPLES[profile] for profile in PROFILES] == [2, 8, 1]


def test_versions_make_stale_and_irrelevant_things_do_not(tmp_path, monkeypatch):
    request = toy_request(tmp_path)
    store(request)
    assert states(replace(request, limit=100, jobs=2, device="auto")) == {"fwd_full": "done"}
    monkeypatch.setattr("benchmark.planning.resolve.SCORER_VERSION", 999)
    assert plan(request)[0].reason.startswith("versions.scorer")
    assert states(request) == {"fwd_full": "stale"}


def test_an_unreadable_record_is_kept_and_named(tmp_path):
    request = toy_request(tmp_path, tasks=("fwd_full", "cont_1"))
    path = Cell("learn", "fwd_full", "toy", "smoke", 0).path(request.results)
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": 1, "st')
    broken, other = plan(request)
    assert (broken.state, broken.action) == ("failed", "refuse") and str(path) in broken.reason
    assert "--overwrite" in broken.reason and other.action == "run"
    assert plan(replace(request, overwrite=True))[0].action == "run"
    path.write_text(json.dumps({"schema": 99, "state": "done", "cell": {}}))
    assert plan(request)[0].action == "refuse"


def test_unknown_names_have_the_nearest(tmp_path):
    for change, message in (
        ({"methods": ("lern",)}, "unknown method 'lern'.*learn"),
        ({"tasks": ("fwd_ful",)}, "unknown task 'fwd_ful'.*fwd_full"),
        ({"datasets": ("tou",)}, "unknown dataset 'tou'.*toy"),
    ):
        with pytest.raises(UnknownName, match=message):
            plan(toy_request(tmp_path, **change))
    with pytest.raises(ValueError, match="unknown profile 'smok'.*smoke"):
        plan(toy_request(tmp_path, profile="smok"))


def test_a_profile_that_a_method_lacks_is_unsupported(tmp_path):
    planned = plan(toy_request(tmp_path, methods=("odd",), profile="laptop"))[0]
    assert (planned.state, planned.action) == ("unsupported", "write")
    assert planned.reason == "odd has no settings for profile 'laptop' (it has smoke)"


def test_overrides_go_where_they_belong(tmp_path):
    """A key of one of the methods is applied to that one; a key of none is refused."""
    request = toy_request(tmp_path, methods=("learn", "odd"), overrides=("steps=9", "optimiser.rate=0.5"))
    learn, odd = plan(request)
    assert learn.settings["method"] == {
        "steps": 9,
        "save_every": 5,
        "optimiser": {"rate": 0.5, "momentum": None},
        "shift": 0.0,
    }
    assert odd.settings["method"] == {"how": "fine", "instances": None}
    for item, message in (
        ("stepz=9", "unknown setting 'stepz'.*steps"),
        ("dataset.scala=9", "unknown setting 'dataset.scala'.*scale"),
        ("task.nois=9", "unknown setting 'task.nois'.*noise"),
        ("steps=many", "learn: steps: expected int, got 'many'"),
    ):
        with pytest.raises(SettingsError, match=message):
            plan(replace(request, overrides=(item,)))


def test_set_wins_over_the_config_file(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("steps: 5\noptimiser: {rate: 0.125}\ndataset: {scale: 3}\n")
    settings = plan(toy_request(tmp_path, config=config, overrides=("steps=6",)))[0].settings
    assert settings["method"]["steps"] == 6 and settings["method"]["optimiser"]["rate"] == 0.125
    assert settings["dataset"]["scale"] == 3.0


PLUGINS = {
    "fit must take (self, train, valid, tasks, seed, run), it takes (self, train, seed)": """
class M(Method):
    profiles = {}
    def fit(self, train, seed): return self
    def predict(self, problem, seed, samples=1): ...
""",
    "predict must take (self, problem, seed, samples)": """
class M(Method):
    profiles = {}
    def fit(self, train, valid, tasks, seed, run): return self
    def predict(self, problem): ...
""",
    "predict must be defined": """
class M(Method):
    profiles = {}
    def fit(self, train, valid, tasks, seed, run): return self
""",
    "expected a dict `profiles`": """
class M(Method):
    def fit(self, train, valid, tasks, seed, run): return self
    def predict(self, problem, seed, samples=1): ...
""",
    "expected a subclass of benchmark.core.Method": "M = dict",
}


@pytest.mark.parametrize("message", PLUGINS)
def test_a_method_with_the_wrong_signature_is_refused_before_any_work(tmp_path, message):
    plugin = tmp_path / "mine.py"
    plugin.write_text(f"from benchmark.core import Method\n{PLUGINS[message]}\nMETHODS = {{'mine': M}}\n")
    request = toy_request(tmp_path, methods=("mine",))
    request = replace(request, plugins=(*request.plugins, plugin))
    with pytest.raises(PluginError) as error:
        plan(request)
    assert message in str(error.value) and "mine.py" in str(error.value)
    # asked through `all`, it stands there as failed and the others go on
    planned = {p.cell.method: p for p in plan(replace(request, methods=("all",)))}
    assert planned["mine"].action == "refuse" and message in planned["mine"].reason
    assert planned["learn"].action == "run"


def test_the_first_of_cells_that_share_work_pays_for_it(tmp_path):
    request = toy_request(tmp_path, tasks=("cont_1", "fwd_full"))
    first, second = (p.estimate for p in plan(request))
    videos = (6 + 2 + 4) * 3
    assert first.disk_mb == videos * 8 * 8 * 4 / 2**20 and second.disk_mb == 0
    assert first.seconds == 10.0 and first.basis == "the profile's budget of a fit"
    cost = {"predict_seconds": 0.5, "fit_seconds": 30.0, "peak_memory_mb": 300.0, "parameters": 2**18}
    done = replace(request, seeds=(1,), tasks=("cont_1",))
    store(done, "cont_1", cost=cost)
    first, second = (p.estimate for p in plan(request))
    assert (first.seconds, second.seconds) == (0.5 * 4 * 2 + 30.0, 0.5 * 4 * 2)  # two samples at this profile
    assert first.memory_mb == 300.0 and first.disk_mb == videos * 8 * 8 * 4 / 2**20 + 1.0
    assert "seed 1" in first.basis


def test_memory_without_a_record_is_what_the_method_counts_of_itself(tmp_path, monkeypatch):
    """Where it is asked for, once for tasks alike; a method that fails at it is planned all the same."""
    asked = []

    def memory(self, task, tasks, dataset, videos):
        asked.append((task.name, [t.name for t in tasks], videos))
        return Memory(fit=3 * 2**30, predict=2**30)

    request = toy_request(tmp_path, tasks=("cont_1", "cont_3", "fwd_full"))
    monkeypatch.setattr(Method, "memory", memory)
    bound = 4 * 3 * 8**2 * 4 / 2**20 * (2 + 3)
    assert [p.estimate.memory_mb for p in plan(request)] == [bound] * 3 and not asked
    assert {p.estimate.memory_mb for p in plan(request, means=Means(memory=9))} == {PROCESS_MB + 3 * 1024 + bound}
    assert [(task, videos) for task, _, videos in asked] == [("cont_1", 8), ("fwd_full", 8)]
    monkeypatch.setattr(Method, "memory", lambda *_: 1 / 0)
    changed = replace(request, overrides=("steps=9",))
    failed = [p.estimate for p in plan(changed, means=Means(memory=9))]
    assert {e.memory_mb for e in failed} == {bound} and all(e.bound for e in failed)


def test_a_plan_counts_the_memory_of_so_many_kinds_of_cells_and_says_of_which_not(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "_COUNTED", {})
    monkeypatch.setattr(Method, "memory", lambda *_: Memory(fit=2**30, predict=0))
    request = toy_request(tmp_path, tasks=("cont_1", "fwd_full", "cont_3"))  # the first and the last are of a kind
    assert [p.estimate.bound for p in plan(request, means=Means(memory=1))] == [False, True, False]
    assert [p.estimate.bound for p in plan(request, means=Means(memory=2))] == [False, False, False]


def test_a_fit_that_serves_all_tasks_is_allowed_more_and_paid_once(tmp_path):
    request = toy_request(tmp_path, methods=("videopde_unified",), tasks=("cont_1", "fwd_full"), profile="laptop")
    first, second = (p.estimate for p in plan(replace(request, datasets=("navier_stokes",))))
    assert (first.seconds, second.seconds) == (900, 0)
    single = replace(request, methods=("videopde",), tasks=("cont_1",), datasets=("navier_stokes",))
    assert [p.estimate.seconds for p in plan(single)] == [300]


def test_a_suite_file_names_the_lists(tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text("title: T\nmethods: [learn]\ntasks: fwd_full\ndatasets: [toy]\nseeds: [0, 1]\nprofile: smoke\n")
    suite = read_suite(path)
    assert suite == {
        "methods": ("learn",), "tasks": ("fwd_full",), "datasets": ("toy",), "seeds": (0, 1), "profile": "smoke"
    }  # fmt: skip
    assert len(plan(toy_request(tmp_path, **suite))) == 2
    for text, message in (
        ("methods: [learn]\ntasks: [x]\ndataset: [toy]\n", "unknown key 'dataset'"),
        ("methods: [learn]\n", "tasks is missing"),
        ("methods: [learn]\ntasks: [x]\ndatasets: [toy]\nseeds: [a]\n", "seeds: expected a list of int"),
        (
            'methods: [learn]\ntasks: [x]\ndatasets: [toy]\nsamples: "x"\n',
            "samples: expected one int, as in `samples: 4`",
        ),
        ("methods: [learn]\ntasks: [x]\ndatasets: [toy]\nsamples: true\n", "samples: expected one int"),
        ("methods: [learn]\ntasks: [x]\ndatasets: [toy]\nprofile: [smoke]\n", "profile: expected one str"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_suite(path)


def test_a_request_survives_the_way_to_a_worker(tmp_path):
    request = toy_request(tmp_path, overrides=("steps=2",), limit=3, config=tmp_path / "c.yaml", time_limit=2.5)
    assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


@pytest.mark.parametrize("change", [{"samples": 0}, {"jobs": 0}, {"limit": 0}, {"time_limit": 0}, {"tasks": ()}])
def test_a_request_is_checked(tmp_path, change):
    with pytest.raises(ValueError, match="expected"):
        toy_request(tmp_path, **change)


def test_changes_lists_every_difference():
    assert list(changes({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3, "d": 4}})) == ["b.c: 2 -> 3", "b.d: None -> 4"]


def test_a_task_of_a_plugin_that_trains_makes_records_of_dataset_fits_stale(tmp_path):
    plugin = tmp_path / "more.py"
    plugin.write_text(
        "from tasks.observation import Observation\n"
        "TASKS = {'cont_9': Observation('cont_9', 'continuous', 0.09, trains=True)}\n"
    )
    plain = toy_request(tmp_path, methods=("learn", "nearest"))
    added = replace(plain, plugins=(*plain.plugins, plugin))
    (learn, nearest), (learn_added, nearest_added) = plan(plain), plan(added)
    assert learn.key != learn_added.key and learn.fit != learn_added.fit
    assert nearest.key == nearest_added.key
