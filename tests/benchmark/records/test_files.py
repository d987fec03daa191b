import json
import re
from pathlib import Path

import pytest

from benchmark.records.cell import Cell
from benchmark.records.files import read_record, record_paths, replacing, to_text, write_record, write_text
from benchmark.records.record import DIGITS, HEADLINE, MetricScore, Record, RecordError
from tests.benchmark.leaderboard.synthetic import done

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
RESULTS = Path(__file__).parents[3] / "results"


@pytest.fixture
def path(tmp_path):
    path = CELL.path(tmp_path)
    write_record(path, done(CELL, [1.0, 2.5]))
    return path


def test_a_file_comes_back_as_it_was(path):
    assert read_record(path) == done(CELL, [1.0, 2.5])
    assert [p.name for p in path.parent.iterdir()] == ["fno-s0.json"]


def test_one_line_a_part_and_one_a_metric(path):
    lines = path.read_text().splitlines()
    names = [match.group(1) for line in lines if (match := re.match(r' ?"(\w+)": ', line))]
    assert names == [
        "about", "cell", "cost", "metrics", "rel_l2", "rel_l2_curve", "vrmse", "provenance", "schema", "settings",
        "state",
    ]  # fmt: skip
    assert len(lines) == len(names) + 3  # the braces that stand alone


def test_the_order_in_which_parts_were_made_does_not_show():
    record = done(CELL, [1.0, 2.5])
    turned = {name: record.metrics[name] for name in reversed(record.metrics)}
    assert to_text(Record(**vars(record) | {"metrics": turned})) == to_text(record)


def test_what_is_not_finite_is_not_written(tmp_path):
    score = MetricScore("", float("nan"), 0.0, 0.0, [0.0])
    with pytest.raises(ValueError, match="JSON compliant"):
        write_record(CELL.path(tmp_path), Record(CELL, "failed", metrics={"x": score}))
    assert not list(tmp_path.rglob("*.json"))


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "new folder" / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("half of the n")
        raise RuntimeError
    assert path.read_text() == "old" and [*path.parent.iterdir()] == [path]


def test_what_a_killed_writer_left_goes_and_what_a_living_one_writes_stays(tmp_path):
    path = tmp_path / "page [1].html"
    left = tmp_path / ".page [1].html.abc.tmp"
    left.write_text("half of the p")
    with replacing(path) as living:
        assert not left.exists()
        living.write_text("first")
        write_text(path, "second")
        assert living.read_text() == "first" and path.read_text() == "second"
    assert path.read_text() == "first" and [*tmp_path.iterdir()] == [path]


def test_a_number_takes_few_bytes():
    """Where the bytes of a record go: to 32 values of a secondary metric at no more than 9 each."""
    few, many = (len(to_text(Record(CELL, "done", metrics={HEADLINE: score(1), "x": score(n)}))) for n in (1, 33))
    assert many - few <= 32 * (DIGITS + 3)


def score(n):
    return MetricScore("", 1 / 3, 1 / 3, 1 / 3, [10 / (3 + i) for i in range(n)])


def test_stored_records_are_current_and_small():
    paths = list(record_paths(RESULTS))
    assert sum(path.stat().st_size for path in paths) < 16_000 * len(paths)
    for path in paths[::40]:
        assert to_text(read_record(path)) == path.read_text(), "run python -m benchmark.records.migrate results"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(schema=99), "newer suite .*update the suite"),
        (lambda r: r.update(schema="x"), "not a record .*--overwrite"),
        (lambda r: r.pop("cell"), "not a record .*--overwrite"),
        (lambda r: r["cell"].update(method="shu"), "move it to smoke/navier_stokes/cont_1/shu-s0.json"),
        (lambda r: r.update(state="fine"), "unknown state 'fine'; expected one of"),
        (lambda r: r.update(metrics={}), "done, but without a finite rel_l2 .*--overwrite"),
        (lambda r: r["metrics"]["rel_l2"].update(values=[]), "done, but without a finite rel_l2"),
        (lambda r: r["metrics"]["rel_l2"].update(values=[1.0, None]), "a metric: expected finite numbers.*--overwrite"),
        (lambda r: r["metrics"]["vrmse"].update(values=["<b>"]), "a metric: expected finite numbers"),
        (lambda r: r["metrics"]["vrmse"].update(mean=True), "a metric: expected finite numbers"),
        (lambda r: r["metrics"]["rel_l2_curve"].update(mean=[[1.0]]), "a metric: expected finite numbers"),
        (lambda r: r["cell"].update(dataset="../../etc"), "no cell has these names"),
        (lambda r: r["cell"].update(method=["fno"]), "not a record .*--overwrite"),
        (lambda r: r["cell"].update(variant="a/b"), "no cell has these names"),
        (lambda r: r["metrics"].update(rel_l2=3.0), "another form than expected .*--overwrite"),
        (lambda r: r["metrics"]["vrmse"].update(colour="red"), "another form than expected"),
        (lambda r: r["metrics"]["vrmse"].update(values=3), "another form than expected"),
        (lambda r: r.update(provenance="here"), "another form than expected"),
        (lambda r: r["provenance"].update(data="here"), "another form than expected"),
        (lambda r: r.update(settings=[1]), "another form than expected"),
        (lambda r: r.update(frames=5), "another form than expected"),
        (lambda r: r["provenance"].update(groups=[0]), "groups: expected the run of each of 2 trajectories"),
        (lambda r: r["provenance"].update(groups=["a", "b"]), "another form than expected"),
    ],
)
def test_a_bad_record_is_named_with_its_remedy(path, change, message):
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(RecordError, match=f"^{re.escape(str(path))}: .*{message}"):
        read_record(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NaN", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        ("1e400", "a number beyond the range of floats"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        ("9" * 5000, "Exceeds the limit"),
    ],
)
@pytest.mark.parametrize("place", ["settings", "metrics"])
def test_json_that_could_hurt_its_reader_is_named(path, text, message, place):
    start = f'"{place}": {{'
    whole = path.read_text()
    assert start in whole
    path.write_text(whole.replace(start, f'{start}"x": {text},', 1))
    with pytest.raises(RecordError, match=message if place == "settings" else f"{message}|another form than expected"):
        read_record(path)


def test_a_file_too_large_for_a_record_is_not_read(path):
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match="more than"):
        read_record(path)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '"done"', "\u00e4"])
def test_what_is_no_record_at_all(path, text):
    path.write_text(text, encoding="latin-1")
    with pytest.raises(RecordError, match=r"fno-s0.json: not a record .*move it away or run the cell again"):
        read_record(path)
