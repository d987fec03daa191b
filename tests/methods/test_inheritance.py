"""A method is found in few places: above it stand `Learned` and `Method`, and at most the one method it varies."""

import pytest

from benchmark.core import Method
from benchmark.planning.registry import registry
from methods.blocks.learned import Learned

KNOWN = registry()
CLASSES = {name: KNOWN.load("methods", name) for name in KNOWN.names("methods")}


@pytest.mark.parametrize("name", CLASSES)
def test_at_most_two_bases_and_one_method_that_is_varied(name):
    above = [cls for cls in CLASSES[name].__mro__[1:] if issubclass(cls, Method)]
    varied = [cls for cls in above if cls not in (Learned, Method)]
    assert len(varied) <= 1 and all(cls in CLASSES.values() for cls in varied)


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if issubclass(cls, Learned)])
def test_there_is_one_fit_and_one_predict(name):
    cls = CLASSES[name]
    assert cls.fit is Learned.fit and cls.predict is Learned.predict
