"""Records are whole, in their place and follow from their settings; tables on disk and in documents are theirs."""

import json
from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.verify import Selection, run_tiers
from benchmark.verify.tables import record_faults
from tests.benchmark.verify.made import stored, whole

RECORD = whole()


def faults(results, **wanted):
    return [(c.path, fault) for c in run_tiers(["tables"], Selection(results, wanted=wanted)) for fault in c.faults]


@pytest.fixture
def results(tmp_path):
    stored(RECORD, tmp_path / "results")
    stored(whole("kriging", values=[5.0, 6.0, 7.0, 8.0, 9.0, 9.5]), tmp_path / "results")
    return tmp_path / "results"


def test_whole_records(results):
    assert faults(results) == []


def test_a_truncated_file(results):
    path = RECORD.cell.path(results)
    path.write_text(path.read_text()[:-200])
    found = faults(results)
    assert [p for p, _ in found] == [path] and "not a record" in found[0][1]


def test_a_record_in_another_place(results):
    path = RECORD.cell.path(results)
    path.rename(path.with_name("pino-s0.json"))
    assert any("holds the record of fno" in fault for _, fault in faults(results))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"key": "0" * 64}, "key"),
        ({"settings": {**RECORD.settings, "method": {"width": 9}}}, "key"),
        ({"provenance": {k: v for k, v in RECORD.provenance.items() if k != "mask_hash"}}, "mask_hash"),
        ({"cost": {}}, "cost without parameters"),
        ({"metrics": {k: v for k, v in RECORD.metrics.items() if k == "rel_l2"}}, ""),
        ({"state": "failed", "metrics": {}}, "failed without a reason"),
    ],
)
def test_what_a_record_must_have(change, word):
    found = record_faults(replace(RECORD, **change))
    assert any(word in fault for fault in found) if word else found == []


def test_values_that_were_lost():
    short = {name: replace(score, values=score.values[:5]) for name, score in RECORD.metrics.items()}
    assert any("5 values of rel_l2, 6 were asked for" in f for f in record_faults(replace(RECORD, metrics=short)))
    one = {**RECORD.metrics, "crps": short["crps"]}
    assert record_faults(replace(RECORD, metrics=one)) == ["5 values of crps, 6 of rel_l2"]


@pytest.mark.parametrize("format", ["md", "latex", "csv", "json"])
def test_a_table_on_disk_is_compared_with_the_records(results, format, capsys):
    assert main(["leaderboard", "--results", str(results), "--format", format, "--output", str(results)]) == 0
    assert faults(results) == []
    stored(whole(values=[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), results)
    ((path, fault),) = faults(results)
    assert path.name.startswith("leaderboard.") and "write it again" in fault
    assert faults(results, method=("fno",)) == []  # of a part of the records it says nothing


DOCUMENT = """# A document

<!-- table -->
| method | navier_stokes cont_1 | navier_stokes cont_3 |
| --- | --: | --: |
| fno | 2.20 <sup>a</sup> | missing |
| kriging | {} | missing |

<sup>a</sup> a note.
<!-- end of table -->
"""


@pytest.mark.parametrize(("shown", "fault"), [("7.42", None), ("7.4", None), ("7.52", "7.52"), ("missing", "missing")])
def test_a_table_in_a_document(results, shown, fault):
    (results.parent / "README.md").write_text(DOCUMENT.format(shown))
    found = faults(results)
    assert [text for _, text in found] == (
        [] if fault is None else [f"kriging navier_stokes cont_1: the table says {fault}, the record 7.417 %"]
    )


def test_a_table_with_methods_across(results):
    rows = "| rel_l2 % | fno | kriging |\n| --- | --: | --: |\n| navier_stokes cont_1 | 2.30 | 7.42 |\n"
    (results.parent / "README.md").write_text(f"<!-- table -->\n{rows}<!-- end of table -->\n")
    assert [text for _, text in faults(results)] == [
        "fno navier_stokes cont_1: the table says 2.30, the record 2.201 %"
    ]


def test_a_table_of_something_else_is_none_of_errors(results):
    rows = "| method | one fit serves | navier_stokes |\n| --- | --- | --: |\n| fno | a task | 11 + 2 |\n"
    (results.parent / "README.md").write_text(f"<!-- table -->\n{rows}<!-- end of table -->\n")
    assert faults(results) == []


def test_a_number_without_a_record(results):
    (results.parent / "README.md").write_text(DOCUMENT.format("7.42").replace("missing", "1.00"))
    assert [text for _, text in faults(results)] == [
        f"{method} navier_stokes cont_3: the table says 1.00, there is no record" for method in ("fno", "kriging")
    ]


def test_command(results, capsys):
    assert main(["verify", str(results)]) == 0
    assert "scores: 2 checked, 0 with faults" in capsys.readouterr().out
    raw = json.loads(RECORD.cell.path(results).read_text())
    raw["metrics"]["rel_l2"]["mean"] = 1.0
    RECORD.cell.path(results).write_text(json.dumps(raw))
    assert main(["verify", str(results), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["passed"] and document["tiers"]["scores"] == {"checked": 2, "failed": 1}
    (bad,) = [check for check in document["checks"] if not check["passed"]]
    assert bad["tier"] == "scores" and bad["path"].endswith("fno-s0.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tier", "score"], "did you mean"),
        (["--method", "shu"], "no record there matches"),
        (["--tier", "training"], "name some"),
    ],
)
def test_mistakes(results, capsys, arguments, message):
    assert main(["verify", str(results), *arguments]) == 2
    assert message in capsys.readouterr().err
