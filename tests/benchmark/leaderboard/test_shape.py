"""Tables that somebody narrows, with another metric, digits, names or intervals."""

import csv
import io
from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.errors import UserError
from benchmark.leaderboard import read_leaderboard, render
from benchmark.leaderboard.measure import Measure, known_measure, number
from benchmark.leaderboard.shape import Shape
from benchmark.leaderboard.tables import family_tables
from benchmark.records.files import write_record
from tests.benchmark.leaderboard.synthetic import Store, done, score


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, "smoke")
    for dataset in ("wave_layer", "navier_stokes", "kolmogorov"):
        for task in ("cont_05", "cont_1", "cont_3"):
            store.done("kriging", [4.0, 5.0, 6.0], task, dataset)
            store.done("fno", [2.0, 3.0, 4.0], task, dataset)
            store.done("videopde", [1.0, 2.0, 3.0], task, dataset)
    store.done("fno", [1.0], "fwd_full", "wave_layer")
    return store


def board(store, include=(), **shape):
    return read_leaderboard(store.results, store.profile, include=include, shape=Shape(**shape))


def shown(capsys, store, *arguments):
    code = main(["leaderboard", "--profile", "smoke", "--results", str(store.results), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_names_narrow_rows_and_columns(store):
    found = board(store, methods=("fno", "kriging"), tasks=("cont_1", "cont_3"), datasets=("kolmogorov",))
    assert found.methods == ("kriging", "fno")
    assert [(c.dataset, c.task) for c in found.columns] == [("kolmogorov", "cont_1"), ("kolmogorov", "cont_3")]


def test_methods_compete_with_those_that_are_shown(store):
    (found,) = board(store, methods=("fno", "kriging"), tasks=("cont_1",), datasets=("kolmogorov",)).columns
    assert found.best == {"fno"}
    text = render(board(store, methods=("fno", "kriging")), "md")
    assert "Only these methods are shown and compared: kriging, fno." in text


def test_a_third_party_method_that_is_named_is_asked_for(store):
    store.done("my_method", [0.5, 0.5, 0.5], "cont_1", "kolmogorov")
    assert "my_method" not in board(store).methods
    assert board(store, methods=("my_method", "fno")).methods == ("fno", "my_method")


def test_a_named_method_opens_no_column_of_a_dataset_that_nobody_asked_for(store):
    store.done("my_method", [0.5, 0.5, 0.5], "cont_1", "kolmogorov")
    store.done("my_method", [0.5], "cont_1", "my_dataset")
    store.done("kriging", [0.1], "cont_1", "my_dataset")
    datasets = {c.dataset for c in board(store, methods=("my_method", "kriging"), tasks=("cont_1",)).columns}
    assert datasets == {"wave_layer", "navier_stokes", "kolmogorov"}
    (column,) = board(store, ("my_method",), datasets=("my_dataset",)).columns
    assert column.entries["my_method"].mean == 0.5 and column.entries["kriging"].mean == 0.1


@pytest.mark.parametrize("kind", ["method", "task", "dataset"])
def test_a_name_without_a_record_is_named(store, kind):
    with pytest.raises(UserError, match=f"--{kind}: no record of 'fnoo'"):
        board(store, **{f"{kind}s": ("fnoo",)})


def test_tables_are_cut_between_datasets_and_letters_start_anew(store):
    store.empty("shu", "unsupported", "not this", "cont_1", "wave_layer")
    store.empty("shu", "failed", "not that", "cont_1", "kolmogorov")
    (first, second, third) = family_tables(board(store, tasks=("cont_05", "cont_1", "cont_3")), widest=4)
    assert [{c.dataset for c in t.columns} for t in (first, second, third)] == [
        {"wave_layer"}, {"navier_stokes"}, {"kolmogorov"},
    ]  # fmt: skip
    assert [len(t.columns) for t in family_tables(board(store), widest=6)] == [6, 3, 1]
    assert first.footnotes == (("a", "unsupported: not this"),) and third.footnotes == (("a", "failed: not that"),)
    assert not second.footnotes


def test_another_metric_is_shown_in_its_unit_and_its_sense(store, tmp_path):
    found = board(store, measure=known_measure("vrmse"), tasks=("cont_1",), datasets=("kolmogorov",))
    (column,) = found.columns
    assert column.entries["videopde"].mean == pytest.approx(0.02)
    assert column.best == {"videopde"} and not column.alike  # tests are of errors in percent
    text = render(found, "md")
    assert "VRMSE (The Well), mean over test trajectories (and seeds); lower is better." in text
    assert "differences are not tested" in text and "**0.0200** [0.0180, 0.0220]" in text
    assert "Methods that sample" not in text


@pytest.mark.parametrize(("name", "best"), [("correlation", {"fno"}), ("spread_skill", set())])
def test_the_sense_of_a_metric(tmp_path, name, best):
    store = Store(tmp_path, "smoke")
    for method, value in (("fno", 0.9), ("videopde", 0.8)):
        cell = store.cell(method, "cont_1", "kolmogorov", 0)
        record = done(cell, [1.0])
        write_record(cell.path(tmp_path), replace(record, metrics=record.metrics | {name: score([value], "")}))
    (column,) = board(store, measure=known_measure(name)).columns
    assert column.best == best
    assert "0.90" in render(board(store, measure=known_measure(name)), "md")


def test_a_record_without_the_metric_says_so(store):
    (entry,) = [c.entries["fno"] for c in board(store, measure=Measure("crps"), tasks=("fwd_full",)).columns]
    assert (entry.state, entry.mean, entry.notes) == ("done", None, ("its record has no crps",))


@pytest.mark.parametrize(
    ("name", "digits", "message"),
    [
        ("rel_l2", 0, "--digits: expected 1 to 15"),
        ("rel_l2_curve", 3, "a number for each frame"),
        ("crp", 3, "did you mean crps"),
    ],
)
def test_a_measure_that_cannot_be_shown(name, digits, message):
    with pytest.raises(UserError, match=message):
        known_measure(name, digits)


def test_the_error_of_a_field_that_no_record_has(store):
    with pytest.raises(UserError, match="unknown metric 'rel_l2_w'"):
        board(store, measure=known_measure("rel_l2_w"))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(123.456, 3, "123"), (12.3456, 3, "12.3"), (1.23456, 3, "1.23"), (0.123456, 3, "0.12"), (0.0123456, 3, "0.0123"),
     (12.3456, 5, "12.346"), (12.3456, 1, "12"), (1e-7, 3, "1.0e-07"), (0.0, 3, "0.00")],
)  # fmt: skip
def test_digits(value, digits, text):
    assert number(value, digits) == text


def test_latex_has_display_names_and_intervals_on_request(store):
    plain = render(board(store, tasks=("cont_1",), datasets=("kolmogorov",)), "latex")
    assert r"\multicolumn{1}{c}{\shortstack[r]{Kolmogorov \\ flow}}" in plain and r"method & 1 \% \\" in plain
    assert r"VideoPDE & \textbf{2.00} \\" in plain
    full = render(board(store, tasks=("cont_1",), intervals=True, names="id", measure=Measure(digits=2)), "latex")
    assert r"videopde & \textbf{2.0} {\scriptsize [1.8, 2.2]}" in full and r"{navier\_stokes}" in full


def test_no_latex_table_is_scaled_to_fit(store):
    text = render(board(store), "latex")
    widths = [len(row.split("{l")[1].rstrip("}")) for row in text.splitlines() if row.startswith(r"\begin{tabular}")]
    assert "resizebox" not in text and max(widths) <= 9


def test_capabilities_come_from_records(store):
    store.empty("shu", "unsupported", "not this", "fwd_full", "wave_layer")
    text = render(board(store), "md")
    rows = {line.split("|")[1].strip(): line for line in text.partition("### What methods can be asked")[2].splitlines()
            if line.startswith("| ")}  # fmt: skip
    cells = {name: [cell.strip() for cell in line.split("|")[2:5]] for name, line in rows.items()}
    assert cells["fno"] == ["✓", "✓", ""] and cells["videopde"] == ["✓", "", ""] and cells["shu"] == ["", "no", ""]


def test_a_suite_narrows_to_its_cells(capsys, store):
    code, out, _ = shown(capsys, store, "--suite", "observation_rate", "--format", "csv")
    cells = {(r["method"], r["task"]) for r in csv.DictReader(io.StringIO(out))}
    assert code == 0 and cells == {("videopde", t) for t in ("cont_05", "cont_1", "cont_3")}
    code, out, _ = shown(capsys, store, "--suite", "observation_rate", "--method", "videopde,fno")
    assert code == 0 and out.startswith("# Figure 9: 0.5 %, 1 % and 3 % of the sites") and "| fno " in out


def test_arguments_reach_the_table(capsys, store):
    arguments = ["--task", "cont_3", "--dataset", "kolmogorov", "--no-intervals", "--names", "display", "--digits", "4"]
    code, out, _ = shown(capsys, store, *arguments)
    assert code == 0 and "Kolmogorov flow, 3 %" in out and "**2.000** |" in out
    code, _, _ = shown(capsys, store, *arguments, "--format", "md,html", "--output", str(store.results))
    assert code == 0 and "**2.000** |" in (store.results / "leaderboard.md").read_text()  # beside the page
    code, _, err = shown(capsys, store, "--metric", "rel_l2_curve")
    assert code == 2 and "plot --figure long_range" in err
