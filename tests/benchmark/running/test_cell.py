from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.core import Prediction
from benchmark.planning.plan import cells_of
from benchmark.planning.resolve import Resolved, Resolver
from benchmark.records.files import read_record, write_record
from benchmark.records.record import About, MetricScore, Record
from benchmark.running import provenance
from benchmark.running.cell import RunContext, question_of, run_cell, shared_runs, summary
from benchmark.running.claim import is_out_of_memory, settled
from benchmark.running.evaluate import check_prediction, make_problem, observe
from benchmark.running.provenance import mask_hash
from datasets.generate import ensure_data
from datasets.kolmogorov import Kolmogorov
from datasets.store import open_split
from tests.benchmark.support import comparable, toy_request

CODE = {"commit": "abc", "dirty": False}


def resolved(request) -> list[Resolved]:
    resolver = Resolver.of(request)
    return [resolver.resolve(cell) for cell in cells_of(request, resolver)]


def context(request, since: str = "", **more) -> RunContext:
    return RunContext(request, torch.device("cpu"), since, CODE, **more)


def run(request, since: str = "", **more) -> list[Record]:
    return [run_cell(cell, context(request, since, **more)) for cell in resolved(request)]


def question(request):
    return question_of(resolved(request)[0], context(request))


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


def test_a_record_has_everything(tmp_path):
    request = toy_request(tmp_path, samples=3)
    (record,) = run(request)
    assert record.state == "done" and record.frames is None
    error = record.metrics["rel_l2"]
    assert error.unit == "%" and len(error.values) == 4
    assert error.mean == pytest.approx(np.mean(error.values)) and error.low <= error.mean <= error.high
    assert len(record.metrics["rel_l2_curve"].mean) == 3 and "energy_score" in record.metrics
    assert record.cost["steps"] == 3 and record.cost["parameters"] == 3 * 8 * 8
    assert record.cost["evaluations"] == 1.0 and record.cost["fit_cached"] is False
    assert record.cost["diagnostics"] == {"misfit": [0.5] * 4}
    assert record.cost["peak_memory_mb"] > 50 and 0 < record.cost["predict_seconds"] < 1
    origin = record.provenance
    assert (origin["commit"], origin["dirty"]) == ("abc", False)
    assert origin["packages"]["torch"] == torch.__version__ and origin["threads"] == torch.get_num_threads()
    assert origin["seeds"] == {"fit": 0, "predict": 0, "mask": 0}
    assert origin["hardware"]["cpu"] and origin["hardware"]["cores"] >= 1
    assert {name: part["size"] for name, part in origin["data"].items()} == {"train": 6, "valid": 2, "test": 4}
    assert origin["data_source"] == "generated" and len(origin["data_fingerprint"]) == 64
    assert origin["plugins"].keys() == {"toy.py"} and len(origin["mask_hash"]) == 64
    assert record.about == About("learned", False, "dataset", stochastic=True)
    path = record.cell.path(tmp_path / "again")
    write_record(path, record)
    assert read_record(path) == Record.from_json(record.to_json())


def test_the_same_cell_gives_the_same_record(tmp_path):
    first, second = (run(toy_request(tmp_path / name)) for name in "ab")
    assert list(map(comparable, first)) == list(map(comparable, second))
    other_seed = run(toy_request(tmp_path / "a", seeds=(1,)))
    assert other_seed[0].metrics["rel_l2"] != first[0].metrics["rel_l2"]
    assert other_seed[0].provenance["mask_hash"] == first[0].provenance["mask_hash"]


def test_one_fit_serves_all_tasks_of_a_dataset(tmp_path, log):
    """It is told of the six tasks of the paper, whatever was asked for, and its time is in every record."""
    records = run(toy_request(tmp_path, tasks=("cont_05", "fwd_full")))
    fits = [line for line in log() if line.startswith("fit")]
    assert len(fits) == 1 and fits[0].split()[-1] == "cont_1,cont_3,fwd_full,inv_full,fwd_partial,inv_partial"
    assert [r.cost["fit_cached"] for r in records] == [False, True]
    assert records[0].cost["fit_seconds"] == records[1].cost["fit_seconds"] > 0


def test_a_fit_for_a_task_serves_that_task(tmp_path, log):
    run(toy_request(tmp_path, methods=("learn_task",), tasks=("cont_1", "fwd_full")))
    assert [line.split()[-1] for line in log() if line.startswith("fit")] == ["cont_1", "fwd_full"]


def test_a_fit_is_kept_until_something_it_depends_on_changes(tmp_path, log):
    def fits(**changes):
        run(toy_request(tmp_path, **changes))
        return sum(line.startswith("fit") for line in log())

    assert fits() == 1
    assert fits(samples=2, limit=1, mask_seed=4) == 1
    assert fits(overrides=("dataset.sizes.test=3",)) == 1
    assert fits(overrides=("steps=2",)) == 2
    assert fits(overrides=("dataset.scale=2",)) == 3
    assert fits(seeds=(1,)) == 4


def test_overwrite_throws_an_older_fit_away_once(tmp_path, log):
    request = toy_request(tmp_path, tasks=("cont_1", "fwd_full"))
    run(request)
    run(replace(request, overwrite=True), since=provenance.now())
    assert sum(line.startswith("fit") for line in log()) == 2


def test_a_fit_goes_on_from_its_checkpoint(tmp_path, log):
    request = toy_request(tmp_path, overrides=("steps=12",))
    (undisturbed,) = run(replace(request, runs=tmp_path / "other"))

    class Killed(BaseException):
        pass

    def kill(message, fraction):
        if fraction >= 8 / 12:
            raise Killed

    with pytest.raises(Killed):
        run(request, progress=kill)
    assert not (resolved(request)[0].fit_folder(request.runs) / "fit.json").exists()
    (record,) = run(request)
    assert log().count("step 4") == 2 and log().count("step 5") == 3  # the checkpoint is after step 4
    assert comparable(record) == comparable(undisturbed)


def test_no_fit_and_no_training_data_for_scope_instance(tmp_path):
    (record,) = run(toy_request(tmp_path, methods=("odd",)))
    assert record.cost["fit_seconds"] == 0 and record.provenance["data"].keys() == {"test"}
    assert not list((tmp_path / "data").rglob("train.hdf5"))


def test_only_predicted_frames_are_scored(tmp_path):
    (record,) = run(toy_request(tmp_path, methods=("odd_partial",)))
    assert record.frames == (1, 2) and len(record.metrics["rel_l2_curve"].mean) == 2


def test_long_range_is_scored_on_the_long_trajectories(tmp_path):
    (record,) = run(toy_request(tmp_path, datasets=("toy_long",), tasks=("long_range",)))
    assert len(record.metrics["rel_l2_curve"].mean) == 6


def test_several_masks_a_trajectory(tmp_path):
    request = toy_request(tmp_path, tasks=("cont_3",), overrides=("task.masks=3",), limit=2)
    (record,) = run(request)
    assert len(record.metrics["rel_l2"].values) == 6
    truth, problem = observe(question(request))
    assert torch.equal(truth.u[0], truth.u[2]) and not torch.equal(problem.mask[0], problem.mask[1])


def test_the_masks_do_not_depend_on_method_seed_or_limit(tmp_path):
    first = toy_request(tmp_path, tasks=("cont_3",))
    run(first)
    problem = make_problem(question(first))
    other = replace(first, methods=("odd",), seeds=(5,), limit=2)
    assert torch.equal(make_problem(question(other)).mask, problem.mask[:2])
    moved = replace(first, mask_seed=1)
    assert not torch.equal(make_problem(question(moved)).mask, problem.mask)


def test_a_method_may_be_scored_on_fewer_trajectories(tmp_path):
    request = toy_request(tmp_path, methods=("odd",), overrides=("instances=3",))
    (record,) = run(request)
    assert len(record.metrics["rel_l2"].values) == record.settings["evaluation"]["trajectories"] == 3
    (fewer,) = run(replace(request, limit=2, overwrite=True))
    assert len(fewer.metrics["rel_l2"].values) == 2


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("odd_nan", r"NaN or infinity in 1 of 4 trajectories"),
        ("odd_shape", r"expected \(1, 4, 3, 8, 8, 1\), got \(1, 4, 2, 8, 8, 1\)"),
        ("odd_tensor", r"expected a Prediction, got Tensor"),
    ],
)
def test_a_bad_prediction_is_refused(tmp_path, method, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run(toy_request(tmp_path, methods=(method,), samples=1))


def test_samples_and_frames_of_a_prediction_are_checked(tmp_path):
    request = toy_request(tmp_path)
    run(request)
    problem = make_problem(question(request))
    video = problem.values
    assert len(check_prediction(Prediction(video[None].double()), problem, 5).u) == 1
    with pytest.raises(ValueError, match=r"expected \(5 or 1, 4, 3, 8, 8, 1\), got \(2, "):
        check_prediction(Prediction(video.expand(2, *video.shape)), problem, 5)
    for frames in ((), (0, 3), (1, 0), (-1,)):
        with pytest.raises(ValueError, match="expected frames as increasing numbers below 3"):
            check_prediction(Prediction(video[None], frames=frames), problem, 1)


def test_data_that_changes_size_is_named(tmp_path):
    request = toy_request(tmp_path, overrides=("dataset.sizes.test=2",))
    run(request)
    cell = resolved(request)[0]
    cell.identity["evaluation"]["trajectories"] = 3
    with pytest.raises(ValueError, match="expected 3 trajectories, the data has 2"):
        observe(question_of(cell, context(request)))


def test_summary_of_a_number_and_of_a_curve():
    number = summary("x", "%", [1.0, 3.0])
    assert number.mean == 2.0 and (number.low, number.high) == (1.0, 3.0)
    curve = summary("x", "%", [[1.0, 5.0], [3.0, 5.0]])
    assert curve.mean == [2.0, 5.0] and curve.low == [1.0, 5.0] and curve.values == []
    with pytest.raises(ValueError, match="metric x: not finite"):
        summary("x", "%", [1.0, math.nan])


def test_the_interval_of_clips_is_that_of_their_runs():
    values, runs = [1.0] * 3 + [3.0] * 3 + [2.0] * 3, [0] * 3 + [1] * 3 + [2] * 3
    by_run, plain = summary("x", "%", values, runs), summary("x", "%", [1.0, 3.0, 2.0])
    assert (by_run.mean, by_run.low, by_run.high) == pytest.approx((plain.mean, plain.low, plain.high))
    curve = summary("x", "%", [[value, 0.0] for value in values], runs)
    assert curve.low == [by_run.low, 0.0]


def test_shared_runs_are_recorded_only_where_there_are_any(tmp_path):
    (record,) = run(toy_request(tmp_path))
    assert record.groups is None and "groups" not in record.provenance
    (record,) = run(toy_request(tmp_path, overrides=("task.masks=2",)))
    assert record.groups == (0, 0, 1, 1, 2, 2, 3, 3)  # several masks on one trajectory
    clips = open_split(Kolmogorov(Kolmogorov.profiles["smoke"]), "train", generated_clips(tmp_path))
    assert shared_runs(clips, 6, masks=1) == [0, 0, 0, 0, 1, 1]  # 4 clips per run
    assert shared_runs(clips, 1, masks=1) is None


def generated_clips(root):
    ensure_data(Kolmogorov(Kolmogorov.profiles["smoke"]), root, ("train",))
    return root


def test_mask_hash_by_hand():
    mask = torch.tensor([True, False, False, False, False, False, False, True, True])
    assert mask_hash(mask) == hashlib.sha256(b"(9,)" + bytes([0b10000001, 0b10000000])).hexdigest()


def test_out_of_memory_is_told_from_other_errors():
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"))
    assert not is_out_of_memory(RuntimeError("shape mismatch")) and not is_out_of_memory(
        ValueError("not enough memory")
    )


def test_a_record_made_meanwhile_settles_the_cell(tmp_path):
    cell = resolved(toy_request(tmp_path))[0].cell
    path = cell.path(tmp_path)

    def record(state, created):
        metrics = {"rel_l2": MetricScore("%", 1.0, 1.0, 1.0, [1.0])}
        write_record(path, Record(cell, state, key="k", metrics=metrics, provenance={"created": created}))

    assert settled(path, "k", "2002", overwrite=False) is None
    record("done", "2001")
    assert settled(path, "k", "2002", overwrite=False) and not settled(path, "k", "2002", overwrite=True)
    assert not settled(path, "other", "2002", overwrite=False)
    record("failed", "2001")
    assert not settled(path, "k", "2002", overwrite=False)
    record("failed", "2003")
    assert settled(path, "k", "2002", overwrite=False) and settled(path, "k", "2002", overwrite=True)
    record("done", "2999")  # by a clock that was wrong: not what another process has done meanwhile
    assert settled(path, "k", "2002", overwrite=False) and not settled(path, "k", "2002", overwrite=True)


def test_commit_of_the_suite_and_of_no_checkout(tmp_path):
    assert provenance.code(tmp_path) == {"commit": None, "dirty": None}
    assert set(provenance.code()) == {"commit", "dirty"}
