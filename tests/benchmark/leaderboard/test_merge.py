"""Records of several folders: what may stand together does, and what may not is refused with its reason."""

import hashlib
from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.leaderboard.merge import merge
from benchmark.records.cell import digest
from tests.benchmark.verify.made import stored, whole

OTHER = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def changed(record, settings=None, **provenance):
    made = {**record.settings, **(settings or {})}
    return replace(record, settings=made, key=digest(made), provenance={**record.provenance, **provenance})


@pytest.fixture
def folders(tmp_path):
    stored(whole("fno"), tmp_path / "a")
    return tmp_path / "a", tmp_path / "b"


def refusals(folders):
    return [refusal.reason for refusal in merge(folders).refused]


def test_records_of_one_basis_come_together(folders):
    stored(whole("pino", values=OTHER), folders[1])
    stored(whole("fno", seed=1, values=OTHER), folders[1])
    merged = merge(folders)
    assert not merged.refused and sorted(path.name for path in merged.taken) == [
        "fno-s0.json",
        "fno-s1.json",
        "pino-s0.json",
    ]
    assert list(merged.counts.values()) == [1, 2]


EVALUATION = whole().settings["evaluation"]
CASES = [
    ({"data_fingerprint": "test-2"}, None, "other test data"),
    ({"data": {s: {"fingerprint": f"{s}-2", "source": "generated"} for s in ("train", "test")}}, None, "training data"),
    ({"scorer_version": 1}, None, "scorer version 1 instead of 2"),
    ({"mask_hash": "masks-2"}, {"evaluation": {**EVALUATION, "mask_seed": 1}}, "mask seed 0, this one 1"),
    ({"mask_hash": "masks-2"}, None, "other masks"),
    ({"packages": {"pde-video-benchmark": "0.2.0"}}, None, "suite version 0.1.0, this one 0.2.0"),
    ({"dataset_version": 2}, None, "dataset version 1, this one 2"),
    ({"data_source": "official"}, None, "data source generated, this one official"),
    ({}, {"task": {"name": "cont_1", "noise": 0.1}}, "other task settings"),
]


@pytest.mark.parametrize(("provenance", "settings", "reason"), CASES, ids=[case[2] for case in CASES])
def test_another_method_on_another_basis_is_refused(folders, provenance, settings, reason):
    stored(changed(whole("pino", values=OTHER), settings, **provenance), folders[1])
    (found,) = refusals(folders)
    assert reason in found


@pytest.mark.parametrize(
    ("provenance", "settings", "reason"),
    [
        ({"method_version": 2}, None, "method version 1, this one 2"),
        ({}, {"method": {"width": 16}}, "other method settings"),
        ({}, {"evaluation": {**EVALUATION, "samples": 8}}, "samples 1, this one 8"),
    ],
)
def test_seeds_are_of_one_method(folders, provenance, settings, reason):
    stored(changed(whole("fno", seed=1, values=OTHER), settings, **provenance), folders[1])
    assert refusals(folders) == [f"seed 0 of fno has {reason}"]
    # another method may have whatever settings it likes
    stored(changed(whole("pino", values=OTHER), settings, **provenance), folders[1])
    assert len(refusals(folders)) == 1


def test_one_cell_twice(folders):
    path = stored(whole("fno"), folders[1])
    assert refusals(folders) == []  # the same record
    stored(whole("fno", values=OTHER), folders[1])
    assert refusals(folders) == [f"{folders[0]} has this cell too: another run, with other numbers"]
    stored(changed(whole("fno"), {"method": {"width": 16}}), folders[1])
    assert refusals(folders) == [f"{folders[0]} has this cell too: with other settings, versions or data"]
    stored(changed(whole("fno"), data_fingerprint="test-2"), folders[1])
    assert refusals(folders) == [f"{folders[0]} has this cell too: here with other test data"]
    stored(replace(whole("fno"), state="failed", reason="memory", metrics={}), folders[1])
    assert refusals(folders) == [f"{folders[0]} has this cell too: done there, failed here"]
    path.write_text("{")
    assert "not a record" in refusals(folders)[0]


def test_other_columns_and_fewer_trajectories_are_no_reason(folders):
    stored(changed(whole("fno", "cont_3"), data_fingerprint="test-2"), folders[1])
    stored(changed(whole("pino", values=OTHER[:4]), mask_hash="masks of 4"), folders[1])
    assert refusals(folders) == []


def contents(folder):
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_command_shows_one_table_and_changes_no_folder(folders, capsys):
    stored(whole("pino", values=OTHER), folders[1])
    stored(changed(whole("deeponet", values=OTHER), dataset_version=2), folders[1])
    before = [contents(folder) for folder in folders]
    arguments = ["leaderboard", "--results", str(folders[0]), "--merge", str(folders[1]), "--format", "csv"]
    assert main(arguments) == 1  # something was refused
    found = capsys.readouterr()
    assert "pino,cont_1" in found.out and "fno,cont_1" in found.out and "deeponet" not in found.out
    assert "deeponet-s0.json: dataset version 1, this one 2" in found.err and "1 refused" in found.err
    assert [contents(folder) for folder in folders] == before
    assert main(["leaderboard", "--results", str(folders[0]), "--merge", "nowhere"]) == 2
