from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.records.cell import digest, plain


@dataclass(frozen=True)
class Inner:
    lr: float = 1e-3
    decay: float | None = None


@dataclass(frozen=True)
class Outer:
    width: int = 64
    modes: tuple[int, int] = (4, 4)
    inner: Inner = Inner()


def test_the_digest_depends_on_values_alone():
    assert digest(Outer()) == digest(Outer()) == digest(plain(Outer()))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(Outer()) != digest(replace(Outer(), inner=Inner(lr=0.5)))
    # pinned: a change here makes every stored record stale
    assert digest({"x": [1, 2.5, None, True, "y"]})[:16] == "c407f4189869f360"


def test_plain_is_json():
    assert plain(Inner(lr=float("inf"))) == {"lr": "inf", "decay": None}
    assert plain({"a": (1, Path("b"))}) == {"a": [1, "b"]}
