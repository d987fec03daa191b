"""Files from anybody: a damaged or hostile one is named in an error, and never more than that."""

from __future__ import annotations

import json
import os
import random
import struct
import time
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from benchmark.cli import main
from benchmark.records import strict
from benchmark.records.cell import Cell
from benchmark.records.files import read_record, write_record
from benchmark.records.folders import note_path
from benchmark.records.predictions import PredictionsError, predictions_path, read_predictions, write_predictions
from benchmark.records.record import RecordError
from benchmark.running.fits import read_fit
from benchmark.running.notes import read_note
from datasets.generate import ensure_data
from datasets.layout import DataError, split_path
from datasets.store import open_split
from methods.blocks.training import checkpoint
from tests.benchmark.leaderboard.synthetic import done
from tests.benchmark.records.test_predictions import some
from tests.datasets import small

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
FLIPS = 300


def flipped(content: bytes, chance: random.Random, until: int | None = None) -> bytes:
    """Some bytes changed, cut or doubled."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(until or len(changed))
        changed[place] = chance.choice((0, 1, 127, 255, changed[place] ^ (1 << chance.randrange(8))))
    cut = chance.randrange(len(changed))
    return bytes(chance.choice((changed, changed, changed[:cut], changed + changed[cut:])))


@pytest.fixture
def record(tmp_path) -> Path:
    path = CELL.path(tmp_path / "results")
    write_record(path, done(CELL, [1.0, 2.5]))
    return path


@pytest.fixture
def predictions(tmp_path) -> Path:
    path = predictions_path(tmp_path / "runs", CELL)
    write_predictions(path, some())
    return path


def test_a_damaged_record_is_read_or_refused(record):
    chance, content, refused = random.Random(0), record.read_bytes(), 0
    for _ in range(FLIPS):
        record.write_bytes(flipped(content, chance))
        try:
            read_record(record)
        except RecordError:
            refused += 1
    assert refused > FLIPS / 3


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "zero"])
def test_a_record_that_is_no_plain_file_is_refused_and_not_waited_for(record, kind, capsys):
    record.unlink()
    {
        "pipe": lambda: os.mkfifo(record),
        "folder": record.mkdir,
        "loop": lambda: record.symlink_to(record.name),
        "zero": lambda: record.symlink_to("/dev/zero"),
    }[kind]()
    write_record(replace(CELL, seed=1).path(record.parents[3]), done(replace(CELL, seed=1), [1.0]))
    assert main(["leaderboard", "--profile", "smoke", "--results", str(record.parents[3])]) == 1
    out, err = capsys.readouterr()
    assert "fno" in out and "fno-s0.json" in err and "Traceback" not in err


DEEP = ("1", '"\\u0041"', '"\N{LATIN SMALL LETTER A WITH DIAERESIS}"')  # the last two are made visible


@pytest.mark.parametrize("inmost", DEEP)
@pytest.mark.parametrize("depth", [strict.DEPTH + 1, 500, 900, 100_000])
def test_deep_json_is_refused_by_all_who_read_it(record, depth, inmost, capsys):
    text, runs = "[" * depth + inmost + "]" * depth, record.parents[4] / "runs"
    record.write_text(text)
    note = note_path(runs, CELL)
    batch = runs / "slurm" / "benchmark-0123abcd" / "batch.json"
    for path in (note, batch):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    results = ["--results", str(record.parents[3])]
    assert main(["leaderboard", "--profile", "smoke", *results]) == 1 and "nested" in capsys.readouterr().err
    assert main(["status", "--runs", str(runs), *results]) == 0 and "unreadable" in capsys.readouterr().out
    assert read_note(runs, CELL) is None


def test_json_is_read_to_its_bound(tmp_path):
    for depth in (1, strict.DEPTH):
        assert strict.parse_json("[" * depth + "]" * depth) is not None


def test_damaged_predictions_are_read_or_refused(predictions):
    chance, content, refused = random.Random(1), predictions.read_bytes(), 0
    for _ in range(FLIPS):
        predictions.write_bytes(flipped(content, chance))
        try:
            read_predictions(predictions)
        except PredictionsError:
            refused += 1
    assert refused > FLIPS / 3


def rewritten(path: Path, **arrays: np.ndarray) -> None:
    with np.load(path) as old:
        parts = {name: old[name] for name in old.files} | arrays
    np.savez_compressed(path, **parts)


def meta(path: Path, text: str) -> None:
    rewritten(path, meta=np.frombuffer(text.encode(), np.uint8))


@pytest.mark.parametrize("shape", ["[1000000, 1000, 1000, 1000, 9]", "[-1, 1, 1, 1, 1]", "[1e400, 1, 1, 1, 1]", "[[]]"])
def test_predictions_of_a_size_that_cannot_be_take_no_memory(predictions, shape):
    with np.load(predictions) as old:
        text = old["meta"].tobytes().decode()
    meta(predictions, text.replace('"shape": [2, 3, 8, 6, 2]', f'"shape": {shape}'))
    refused_cheaply(predictions)


def test_deep_predictions_are_refused(predictions):
    meta(predictions, "[" * 10_000 + "]" * 10_000)
    refused_cheaply(predictions)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(predictions):
    with zipfile.ZipFile(predictions, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("seen.npy", "w") as bomb:
        for _ in range(64):
            bomb.write(bytes(1 << 20))
    content = bytearray(predictions.read_bytes())
    place = content.rindex(b"seen.npy") - 22  # unpacked size in the central directory
    content[place : place + 4] = struct.pack("<I", 0xFFFFFFF0)
    predictions.write_bytes(content)
    refused_cheaply(predictions)


def refused_cheaply(path: Path) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(PredictionsError, match=r"no predictions.*--overwrite"):
            read_predictions(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


@pytest.fixture
def saved(tmp_path) -> Path:
    weights = {"model": {"w": torch.arange(12.0).reshape(3, 4)}}
    for step in (1, 2):
        path = checkpoint.save(tmp_path, step, weights, {"progress": {"steps": step}, "optimisers": [{0: (0.9, None)}]})
    return path


def test_a_damaged_checkpoint_is_passed_over_whatever_the_damage(saved):
    chance, contents = random.Random(2), {file: file.read_bytes() for file in saved.iterdir()}
    for _ in range(FLIPS // 3):
        file = chance.choice(sorted(contents))
        damaged = flipped(contents[file], chance)
        file.write_bytes(damaged)
        if damaged != contents[file] and json_differs(file, contents[file], damaged):
            with pytest.raises(ValueError, match="cannot be read"):
                checkpoint.load(saved)
        file.write_bytes(contents[file])
    assert checkpoint.load(saved).state["progress"] == {"steps": 2}


def json_differs(file: Path, one: bytes, other: bytes) -> bool:
    """The list of digests may change in a way that means the same."""
    try:
        return file.name != checkpoint.DIGESTS or json.loads(one) != json.loads(other)
    except ValueError:
        return True


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("state.json", b"[" * 100_000),
        ("state.json", b'{"items": [[["list"], 1]]}'),
        ("state.json", b'{"tensor": "../../secret"}'),
        ("model.safetensors", struct.pack("<Q", 2**62) + b"{}"),
        ("model.safetensors", struct.pack("<Q", 10**6) + b'{"a":' * 200_000),
        (
            "model.safetensors",
            struct.pack("<Q", 64) + b'{"a":{"dtype":"F32","shape":[999999999],"data_offsets":[0,4]}}   ',
        ),
        ("extra.safetensors", b"not in the list"),
        ("digests.json", b'{"../../../etc/passwd": "0"}'),
        ("digests.json", b"[]"),
        ("digests.json", b"{}"),
    ],
)
def test_a_hostile_checkpoint_is_refused(saved, name, content):
    """Also where whoever wrote it has listed it with the right digest."""
    (saved / name).write_bytes(content)
    if not name.startswith(("digests", "extra")):
        digests = json.loads((saved / checkpoint.DIGESTS).read_text())
        digests[name] = checkpoint._digest(saved / name)
        (saved / checkpoint.DIGESTS).write_text(json.dumps(digests))
    with pytest.raises(ValueError, match="cannot be read"):
        checkpoint.load(saved)
    with pytest.warns(UserWarning, match="going on from checkpoint-000000001"):
        assert checkpoint.newest(saved.parent).path.name == "checkpoint-000000001"


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"seconds": 1}', "[" * 100_000, '{"a": 1e400}', '{"x": {}}'])
def test_damaged_notes_of_a_fit_are_no_fit(tmp_path, content):
    (tmp_path / "fit.json").write_text(content)
    assert read_fit(tmp_path) is None


@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.999])
def test_data_that_was_cut_is_refused(tmp_path, share):
    """Bytes changed in HDF5's own header are not tried: its library reads some of them for ever."""
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("valid",))
    path = split_path(dataset, "valid", tmp_path)
    os.truncate(path, int(share * path.stat().st_size))
    with pytest.raises(DataError, match="valid.hdf5"):
        open_split(dataset, "valid", tmp_path)[:]


@pytest.mark.parametrize(
    ("name", "value"),
    [("recipe", "{"), ("recipe", "[" * 100_000), ("n_trajectories", "many"), ("n_trajectories", -1)],
)
def test_data_with_hostile_attributes_is_refused(tmp_path, name, value, capsys):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("valid",))
    with h5py.File(split_path(dataset, "valid", tmp_path), "r+") as file:
        file.attrs[name] = value
    with pytest.raises(DataError, match="valid.hdf5"):
        open_split(dataset, "valid", tmp_path)[:]
    arguments = ["navier_stokes", "--profile", "smoke", "--data", str(tmp_path)]
    assert main(["data", "info", *arguments]) == 0 and "Traceback" not in capsys.readouterr().err


def test_yaml_that_stands_for_billions_of_values_is_refused_at_once(tmp_path):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    began = time.monotonic()
    for option in ("--suite", "--config"):
        arguments = ["run", "--method", "mean", "--task", "cont_1", option, str(tmp_path / "bomb.yaml"), "--dry-run"]
        assert main(arguments) == 2
    assert time.monotonic() - began < 20
