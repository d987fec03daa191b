"""Orderings and claims against records: reproduced, contradicted, undecided, not run."""

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from benchmark.published import compare
from benchmark.published.numbers import columns, read_numbers
from tests.benchmark.published.made import N, errors, made

CONTINUOUS = ("cont_1", "cont_3")


def ordering(records, lower="videopde", higher="shu", where="navier_stokes cont_1"):
    found = {(f"{v.dataset} {v.task}", v.lower, v.higher): v for v in compare(records, "laptop").orderings}
    return found[where, lower, higher]


def claim(records, id, studies=None):
    return next(v for v in compare(records, "laptop", studies).claims if v.id == id)


@pytest.mark.parametrize(
    ("videopde", "shu", "noise", "state"),
    [(1.0, 2.0, 0.05, "reproduced"), (2.0, 1.0, 0.05, "contradicted"), (1.0, 1.002, 0.5, "undecided")],
)
def test_an_ordering(videopde, shu, noise, state):
    verdict = ordering([made("videopde", videopde, noise=noise), made("shu", shu, noise=noise)])
    assert verdict.state == state
    assert verdict.printed == (0.80, 8.6) and verdict.ours is not None and verdict.p is not None


def test_orderings_without_a_record_or_a_number_are_not_run():
    assert ordering([]).notes == ("videopde navier_stokes cont_1: no record",)
    failed = replace(made("shu", 1.0), state="failed", reason="out of paper", metrics={})
    verdict = ordering([made("videopde", 1.0), failed])
    assert verdict.state == "not run" and verdict.notes == ("shu navier_stokes cont_1: failed, out of paper",)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"data_fingerprint": "test-2"}, "test data"),
        ({"mask_hash": "masks-2"}, "masks"),
        ({"scorer_version": 2}, "scorer version"),
        ({"n": 8}, "test trajectories"),
    ],
)
def test_records_that_may_not_be_compared_are_not(change, word):
    verdict = ordering([made("videopde", 1.0), made("shu", 2.0, **change)])
    assert verdict.state == "not run" and word in verdict.notes[0]


def test_few_trajectories_decide_nothing():
    verdict = ordering([made("videopde", 1.0, n=4), made("shu", 2.0, n=4)])
    assert verdict.state == "undecided" and verdict.notes == ("too few test trajectories to tell",)


def test_a_mean_that_points_the_other_way_decides_nothing():
    shu = made("shu", 1.0, noise=0)
    values = [0.5 * value for value in errors(1.0, 0)]
    values[0] *= 1000  # one disaster, better everywhere else
    videopde = made("videopde", 1.0)
    score = replace(videopde.headline, values=values, mean=sum(values) / N)
    assert ordering([replace(videopde, metrics={"rel_l2": score}), shu]).state == "undecided"


def test_variants_and_plugins_are_no_evidence():
    wide = replace(made("videopde", 1.0), cell=replace(made("videopde", 1.0).cell, variant="wide"))
    stranger = replace(made("shu", 2.0), settings={"sources": {"method": "sha256"}})
    assert ordering([wide, made("shu", 2.0)]).state == "not run"
    assert ordering([made("videopde", 1.0), stranger]).state == "not run"


def test_seeds_are_pooled_and_other_bases_left_out():
    seeds = [made(m, level, seed=s) for m, level in (("videopde", 1.0), ("shu", 2.0)) for s in (0, 1, 2)]
    other = made("shu", 0.1, seed=3, data_fingerprint="another machine")
    assert ordering([*seeds, other]).state == "reproduced"


def test_counts_add_up():
    comparison = compare([made("videopde", 1.0), made("shu", 2.0)], "laptop")
    assert sum(comparison.counts("ordering").values()) == len(comparison.orderings) == 306
    assert sum(comparison.counts("claim").values()) == len(comparison.claims) == 33
    assert [v.id for v in comparison.claims] == [f"Q{i}" for i in range(1, 34)]


def everything(profile="laptop"):
    """Records whose errors are the paper's."""
    return [
        made(method, values[-1], task, dataset, profile, noise=0.01)
        for (dataset, task), methods in columns(read_numbers()).items()
        for method, values in methods.items()
    ]


def test_records_with_the_papers_errors_reproduce_it():
    comparison = compare(everything(), "laptop")
    counts = comparison.counts("ordering")
    assert counts["contradicted"] == counts["not run"] == 0 and counts["reproduced"] >= 300
    by_id = {v.id: v for v in comparison.claims}
    held = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q7", "Q9", "Q12", "Q13", "Q14", "Q15", "Q19", "Q21", "Q22", "Q23", "Q26")
    assert {id: by_id[id].state for id in held} == dict.fromkeys(held, "reproduced")
    assert by_id["Q11"].state == "contradicted" and by_id["Q11"].own == "no, 24/30"
    assert dict(by_id["Q11"].counts)["contradicted"] == 6
    assert any("navier_stokes inv_full" in note for note in by_id["Q11"].notes)


def test_a_claim_of_which_a_part_is_run():
    pair = [made("videopde", 1.0, t, "allen_cahn") for t in CONTINUOUS]
    baselines = [made(m, 2.0, "cont_1", "allen_cahn") for m in ("diffusionpde", "diffusionpde_ext", "shu", "zhuang")]
    verdict = claim([*pair, *baselines], "Q19")
    assert verdict.state == "undecided"
    assert dict(verdict.counts) == {"reproduced": 1, "contradicted": 0, "undecided": 0, "not run": 1}
    worse = [*pair, made("shu", 0.5, "cont_1", "allen_cahn")]
    assert claim(worse, "Q19").state == "contradicted"
    assert claim([], "Q19").state == "not run"


def test_about_the_same_takes_both_directions():
    def records(ratio):
        return [made("videopde", 1.0, t, "helmholtz", noise=0.01) for t in CONTINUOUS] + [
            made("diffusionpde", ratio, t, "helmholtz", noise=0.01) for t in CONTINUOUS
        ]

    assert claim(records(1.01), "Q20").state == "reproduced"
    assert claim(records(1.3), "Q20").state == claim(records(0.7), "Q20").state == "contradicted"


def test_a_bound_and_a_slope():
    datasets = ("wave_layer", "navier_stokes", "kolmogorov", "allen_cahn", "helmholtz")
    low = [made("videopde", 2.0, "cont_3", d) for d in datasets]
    assert claim(low, "Q16").state == "reproduced"
    assert claim([*low[1:], made("videopde", 30.0, "cont_3", "wave_layer")], "Q16").state == "contradicted"
    steep = {"kolmogorov": 12.0, "allen_cahn": 14.0}
    assert claim([*low, *(made("videopde", steep.get(d, 4.0), "cont_05", d) for d in datasets)], "Q17").state == (
        "reproduced"
    )
    assert claim([*low, *(made("videopde", 4.0, "cont_05", d) for d in datasets)], "Q17").state == "undecided"


def test_metrics_of_one_record():
    samples = {"rel_l2_mean": errors(0.7), "rel_l2_best": errors(0.98), "rel_l2_samples": errors(1.0)}
    record = made("videopde", 1.0, "inv_full", metrics=samples, scorer_version=2)
    assert claim([record], "Q6").state == "reproduced"
    assert claim([made("videopde", 1.0, "inv_full")], "Q6").notes == (
        "videopde navier_stokes inv_full rel_l2_mean: its record has no such value",
    )
    assert claim([made("videopde", 1.0, "cont_1", "helmholtz", metrics=samples)], "Q31").state == "reproduced"


def timed(method, seconds, task="fwd_full", **provenance):
    record = made(method, 1.0, task, **provenance)
    return replace(record, cost={**record.cost, "predict_seconds": seconds})


def test_times():
    slow = [timed("diffusionpde", 500.0), timed("zhuang", 500.0, "cont_3"), timed("shu", 500.0, "cont_3")]
    assert claim([timed("videopde", 1.0), *slow], "Q25").state == "reproduced"
    assert claim([timed("videopde", 4.5), *slow], "Q25").state == "undecided"  # a factor of 1.1 is no news
    assert claim([timed("videopde", 50.0), *slow], "Q25").state == "contradicted"
    busy = timed("videopde", 50.0)  # by the clock, of a machine that had other work
    assert claim([replace(busy, cost={**busy.cost, "predict_cpu_seconds": 1.0}), *slow], "Q25").state == "reproduced"
    elsewhere = claim([timed("videopde", 1.0, device="cuda"), *slow], "Q25")
    assert elsewhere.state == "not run" and "different machines" in elsewhere.notes[0]


def test_studies_have_records_and_data_of_their_own():
    levels = {"frames_20": 1.0, "frames_10": 2.0, "frames_5": 4.0}

    def studies(levels):
        return {
            ("frame_count", variant): [made("videopde", level, "cont_3", "wave_layer", data_fingerprint=variant)]
            for variant, level in levels.items()
        }

    hard = {variant: 30 * level * i for i, (variant, level) in enumerate(levels.items(), 1)}
    assert claim([], "Q28", studies(hard)).state == "reproduced"
    assert claim([], "Q28", studies({**hard, "frames_20": 5000.0})).state == "contradicted"
    assert claim([], "Q28", studies({v: 1.0 for v in levels})).state == "undecided"


def test_numbers_stand_beside_the_papers_only_at_its_sizes():
    assert compare(everything(), "laptop").numbers == ()
    comparison = compare(everything("paper"), "paper")
    assert len(comparison.numbers) == 187
    found = next(n for n in comparison.numbers if n.number.place[:3] == ("videopde", "kolmogorov", "cont_1"))
    assert found.ours == pytest.approx(sum(errors(6.48, 0.01)) / N) and found.difference == found.ours - 6.48
    missing = [n for n in comparison.numbers if n.number.place.study]
    assert all(n.ours is None and "no record" in n.note for n in missing)


def test_what_must_be_said_first():
    small, paper = (compare([made("videopde", 1.0, profile=p)], p).warnings for p in ("laptop", "paper"))
    assert any("no evidence against the paper" in text for text in small)
    assert not any("no evidence" in text for text in paper) and any("generated" in text for text in paper)


def test_a_table_of_all_cells_is_compared_at_once():
    records = everything()
    start = time.process_time()
    compare(records, "laptop")
    assert time.process_time() - start < 2


def test_torch_is_not_needed():
    code = "import sys; from benchmark.published import compare; compare([], 'laptop'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
