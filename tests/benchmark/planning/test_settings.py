from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from benchmark.planning.settings import (
    SettingsError,
    covers,
    has,
    keys,
    parse_overrides,
    read_config,
    resolve,
    scaled,
    without,
)
from benchmark.records.cell import plain


@dataclass(frozen=True)
class Inner:
    lr: float = 1e-3
    decay: float | None = None

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError(f"expected lr > 0, got {self.lr}")


@dataclass(frozen=True)
class Outer:
    width: int = 64
    name: str = "a"
    bias: bool = True
    modes: tuple[int, int] = (4, 4)
    widths: tuple[int, ...] = (1, 2)
    kind: Literal["relu", "gelu"] = "relu"
    path: Path | None = None
    inner: Inner = Inner()


def changed(*items: str) -> Outer:
    return resolve(Outer(), parse_overrides(items), "fno")


def test_values_take_the_type_of_their_field():
    assert changed("width=32").width == 32
    assert changed("inner.lr=2").inner == Inner(lr=2.0)
    assert isinstance(changed("inner.lr=2").inner.lr, float)
    assert changed("inner.lr=1e-4").inner.lr == 1e-4  # text in YAML
    assert changed("inner.decay=0.1").inner.decay == 0.1
    assert changed("inner.decay=0.1", "inner.decay=null").inner.decay is None
    assert changed("modes=[8, 2]").modes == (8, 2)
    assert changed("widths=[1, 2, 3]").widths == (1, 2, 3)
    assert changed("kind=gelu").kind == "gelu"
    assert changed("bias=false").bias is False
    assert changed("path=a/b").path == Path("a/b")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("widht=32", r"fno: widht: unknown setting 'widht' \(did you mean width"),
        ("inner.rate=1", r"inner.rate: unknown setting 'rate'"),
        ("width.x=1", r"width.x: unknown setting 'x' \(there are none\)"),
        ("width=1.5", r"width: expected int, got 1.5"),
        ("width=true", r"width: expected int, got True"),
        ("bias=1", r"bias: expected bool, got 1"),
        ("name=3", r"name: expected str, got 3"),
        ("inner.lr=fast", r"inner.lr: expected float, got 'fast'"),
        ("inner=3", r"inner: expected Inner, got 3"),
        ("modes=[1, 2, 3]", r"modes: expected tuple\[int, int\], got \[1, 2, 3\]"),
        ("kind=tanh", r"kind: expected one of 'relu', 'gelu', got 'tanh'"),
        ("inner.lr=-1", r"inner.lr: expected lr > 0, got -1.0"),
        ("width", r"override 'width': expected key=value"),
        ("modes=[1", r"override 'modes=\[1': the value is not YAML"),
    ],
)
def test_bad_overrides_say_what_was_expected(item, message):
    with pytest.raises(SettingsError, match=message):
        changed(item)


def test_a_config_file_is_dotted_keys(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("width: 8\ninner:\n  lr: 1e-2\ndataset: {alpha: 3}\n")
    assert read_config(path) == {"width": 8, "inner.lr": "1e-2", "dataset.alpha": 3}
    path.write_text("")
    assert read_config(path) == {}


@pytest.mark.parametrize(
    ("text", "message"), [("[1, 2]", "expected a mapping"), ("a: [", "not YAML"), (None, "cannot be read")]
)
def test_bad_config_files_are_named(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=f"c.yaml: {message}"):
        read_config(path)


def test_safe_loading_makes_no_objects():
    with pytest.raises(SettingsError, match="not YAML"):
        parse_overrides(["width=!!python/object/apply:os.getcwd []"])


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "aliases are not read; write the value out"),
        ("a: " + "[" * 10_000 + "]" * 10_000, "nested more than 32 deep"),
        ("".join(f"{' ' * i}a:\n" for i in range(200)), "nested more than 32 deep"),
        ("width: 8\nwidth: 16", "'width' stands twice"),
        ("a: !!python/name:os.system x", "could not determine a constructor"),
    ],
)
def test_yaml_that_could_hurt_its_reader_is_named(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=f"c.yaml: not YAML .*{message}"):
        read_config(path)


def test_keys_and_has_reach_into_nested_settings():
    assert "inner.lr" in keys(Outer()) and "inner" not in keys(Outer())
    assert has(Outer(), "inner") and has(Outer(), "inner.lr")
    assert not has(Outer(), "inner.lr.x") and not has(Outer(), "lr")


def test_keys_can_be_left_out_with_all_under_them():
    whole = plain(Outer())
    assert "width" not in without(whole, ["width"]) and "width" in whole
    assert without(whole, ["inner.lr"])["inner"] == {"decay": None}
    assert without(whole, ["inner"]) == {k: v for k, v in whole.items() if k != "inner"}
    assert without(whole, ["wid", "inner.l", "name.x"]) == whole


@dataclass(frozen=True)
class Ordered:
    low: int = 0
    high: int = 1
    inner: Inner = Inner()

    def __post_init__(self):
        if self.low >= self.high:
            raise ValueError(f"expected low < high, got {self.low}, {self.high}")


@pytest.mark.parametrize("items", [("low=5", "high=9"), ("high=9", "low=5"), ("high=9", "inner.lr=2", "low=5")])
def test_settings_that_check_each_other_see_the_final_values(items):
    changed = resolve(Ordered(), parse_overrides(items))
    assert (changed.low, changed.high) == (5, 9)
    with pytest.raises(SettingsError, match="settings: low, inner.lr: expected low < high, got 5, 1"):
        resolve(Ordered(), {"low": 5, "inner.lr": 2.0})


def test_a_name_covers_what_is_under_it():
    assert covers(["inner", "width"], "inner.lr") and covers(["width"], "width")
    assert not covers(["inn"], "inner.lr") and not covers(["inner.lr"], "inner")


def test_numbers_are_scaled_together_and_stay_what_they_are():
    twice = scaled(Outer(), ("width", "inner.lr"), 2.5)
    assert (twice.width, twice.inner.lr) == (160, 2.5e-3) and isinstance(twice.width, int)
    assert scaled(Outer(width=3), ("width",), 0.4).width == 1
    assert scaled(Outer(width=0), ("width",), 0.1).width == 0  # nothing of nothing
    assert scaled(Outer(), (), 7.0) == Outer() == scaled(Outer(), ("width",), 1.0)
    with pytest.raises(SettingsError, match="fno: width: 0.001 times 64 is less than 1"):
        scaled(Outer(), ("width",), 0.001, "fno")
