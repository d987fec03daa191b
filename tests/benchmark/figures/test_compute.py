"""The curve out of stored records."""

from benchmark.figures.compute import budget_of, budgets_of, compute, curve_of
from benchmark.figures.reading import Place
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from tests.benchmark.figures.made import record


def store(results):
    for variant, error in (("", 40.0), ("budget_5", 20.0), ("wide", 30.0), ("wide+budget_5", 10.0)):
        made = record("fno", [error, error], variant=variant)
        write_record(made.cell.path(results), made)


def test_a_budget_is_in_the_name_of_the_variant():
    names = ("", "wide", "budget_5", "wide+budget_0.2")
    assert [budget_of(Cell("fno", "cont_3", "kolmogorov", "laptop", 0, name)) for name in names] == [1, 1, 5, 0.2]


def test_a_line_is_of_one_method_or_of_one_variant(tmp_path):
    store(tmp_path)
    place = Place("cont_3", "navier_stokes", results=tmp_path)
    found = budgets_of(["fno", "fno @ wide"], place, (0,))
    curve = curve_of(found)
    assert {line.method: [(p.budget, p.entry.mean) for p in line.points] for line in curve.lines} == {
        "fno": [(1.0, 40.0), (5.0, 20.0)],
        "fno @ wide": [(1.0, 30.0), (5.0, 10.0)],
    }
    axes = compute(found).axes[0]
    assert "profile laptop" in axes.get_title(loc="left")
