"""Tables say what tells methods apart, as their records declare it."""

from benchmark.leaderboard.traits import traits
from benchmark.planning.resolve import Resolver
from benchmark.records.cell import Cell
from benchmark.records.record import About, Record
from tests.benchmark.support import toy_request


def record(method, about):
    return Record(Cell(method, "cont_3", "kolmogorov", "laptop", 0), "done", about=about)


RECORDS = [
    record("fno", About("learned", False, "task", ("coordinates", "symmetries"))),
    record("videopde", About("learned", False, "task", ("coordinates",))),
    record("shu", About("learned", True, "dataset")),
    record("solver", About("reference", True, "task")),
    record("pinn", About("learned", True, "instance")),
    record("eci", None),
]


def test_a_sentence_for_each_trait_of_those_asked_for():
    everybody = {r.cell.method for r in RECORDS}
    assert traits(RECORDS, everybody) == [
        "Uses the equation beside the data: solver, pinn, shu.",
        "One fit serves all tasks of a dataset: shu.",
        "One fit for each task: videopde, fno.",
        "Fitted to each test trajectory, nothing learned from the training set: pinn.",
        "Given coordinates: videopde, fno.",
        "Given symmetries: fno.",
    ]
    assert len(traits(RECORDS, {"fno"})) == 3
    assert traits(RECORDS, {"eci"}) == []
    older = record("fno", About("learned", False, "task"))  # from before records said so: it hides nothing
    assert traits([*RECORDS, older], {"fno"}) == traits(RECORDS, {"fno"})


def test_at_laptop_all_learned_methods_have_the_same_aids(tmp_path):
    """Coordinates and symmetries for all of them; a fill of the gaps is part of a method."""
    request = toy_request(tmp_path, methods=("all",), profile="laptop", plugins=())
    resolver, seen = Resolver.of(request), {}
    for name in resolver.names("methods"):
        cell = resolver.resolve(Cell(name, "cont_3", "kolmogorov", "laptop", 0))
        if cell.about.kind == "learned" and cell.method.scope != "instance" and hasattr(cell.settings, "coordinates"):
            seen[name] = frozenset(aid for aid in cell.about.aids if not {"nearest", "kriging"} & {*aid.split()})
    assert len(seen) >= 13 and len(set(seen.values())) == 1 and all(len(aids) == 2 for aids in seen.values())
