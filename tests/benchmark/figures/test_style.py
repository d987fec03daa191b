"""The look of a method is its own, on every figure."""

from itertools import combinations

import matplotlib
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from benchmark.figures.style import LOOKS, RC, heading, looks, save, styled
from benchmark.planning.registry import registry

LEARNED = [name for name in registry().names("methods") if registry().load("methods", name).kind == "learned"]


def test_every_method_looks_like_no_other():
    found = looks([*LEARNED, "my_method", "fno @ wide", "another"])
    assert len(set(found.values())) == len(found)
    assert set(LOOKS) <= set(LEARNED)


def test_a_method_looks_the_same_whoever_is_beside_it():
    everybody = looks(LEARNED)
    assert all(looks([name]) == {name: everybody[name]} for name in LEARNED)


def test_a_variant_without_its_method_looks_like_it():
    assert looks(["fno @ wide", "videopde"])["fno @ wide"] == LOOKS["fno"]
    assert looks(["fno @ wide", "fno"])["fno @ wide"] != LOOKS["fno"]


def test_headings_have_names_as_tables_print_them():
    assert heading("kolmogorov", "cont_3", "paper") == "Kolmogorov flow, continuous, 3 %; profile paper"
    assert heading("kolmogorov", "long_range", "smoke").startswith("Kolmogorov flow, long range; profile smoke (not")
    assert heading("my_data", "my_task", "paper") == "my_data, my_task; profile paper"


def luminance(colour):
    """Relative, after WCAG."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_lines_stand_out_from_the_paper_and_from_each_other():
    """The contrast with white is at least 2; two colours of the same luminance never share a marker."""
    found = LOOKS  # those that were chosen; spare ones differ in colour or marker
    assert all(1.05 / (luminance(look.colour) + 0.05) > 2 for look in found.values())
    alike = [
        (a, b)
        for (a, x), (b, y) in combinations(found.items(), 2)
        if x.marker == y.marker and abs(luminance(x.colour) - luminance(y.colour)) < 0.01
    ]
    assert not alike


def test_the_style_leaves_the_global_one_alone(tmp_path):
    before = matplotlib.rcParams["font.size"]
    with styled():
        assert matplotlib.rcParams["font.size"] == RC["font.size"] != before
    assert matplotlib.rcParams["font.size"] == before


def test_the_same_figure_is_the_same_bytes(tmp_path):
    def bytes_of(name):
        with styled():
            figure = Figure(figsize=(1, 1))
            figure.subplots().plot([1, 2])
            return [path.read_bytes() for path in save(figure, tmp_path / name)]

    assert bytes_of("a") == bytes_of("b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pdf", "a.png", "b.pdf", "b.png"]
