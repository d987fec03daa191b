"""Every learned method learns from a batch in pieces what it learns from the whole: losses and weights to rounding."""

import pytest

from benchmark.planning.resolve import Resolver
from tests.methods.shared_fits import CASES, check_alike, fit, make_data, request


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


def settings(case, data, name):
    """Of all stages of a case's training, by their own names."""
    asked = request(case, data)
    bounds = Resolver.of(asked).method(asked.methods[0]).memory_settings
    return [bound.replace("at_once", name) for bound in bounds if bound.endswith("at_once")]


@pytest.mark.parametrize("case", CASES)
def test_a_batch_in_pieces_teaches_what_the_whole_does(tmp_path, data, case):
    few = [f"{name}=30" for name in settings(case, data, "steps") if name + "=100" not in CASES[case][3]]
    pieces = [f"{name}=3" for name in settings(case, data, "at_once")]
    whole, parts = tmp_path / "whole", tmp_path / "pieces"
    one, other = fit(case, data, whole, *few).state(), fit(case, data, parts, *few, *pieces).state()
    check_alike(whole, one, parts, other)
    assert any((other[name] != value).any() for name, value in one.items() if name != "flop_"), "it was one piece"
