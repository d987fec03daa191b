"""Bad command lines over all verbs, of two kinds.

Wild ones are made of a verb's own options with values that mostly cannot be; argparse stops many. The others begin with
a good line: to it come options with values that argparse takes, and endings that the verb itself must refuse.

Each line is a function of its seed. None asks for work: where the rest is fine, an ending that must be refused
stands at its end, or `--dry-run` does.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.cli import VERBS, parser
from tests.fuzz.good_lines import GOOD
from tests.fuzz.words import NAMES, NUMBERS, OUTPUTS, PATHS, VALUES, WHOLE

WILD = 0.35  # their share
NEVER = {"--help", "-h", "--version", "--yes", "--overwrite", "--fits"}
REFUSED = ("--no-such-option", "--jobs=none", "--plugin=/nowhere.py")
TIERS = ("tables", "scores", "predictions", "x", ",", "scores,scores")  # training would train
ROOTS = ("/", "~", "../..", "/nowhere/at/all")  # too much to read, or a place outside to write to


@dataclass(frozen=True)
class Line:
    words: list[str]
    codes: tuple[int, ...] = (0, 1, 2)  # that it may end with


def actions(verb: str) -> dict[tuple[str, ...], list[argparse.Action]]:
    """The words of a verb, with its action where it has several, and what each takes."""
    (verbs,) = [a for a in parser((verb,))._actions if isinstance(a, argparse._SubParsersAction)]
    own = verbs.choices[verb]
    nested = [a for a in own._actions if isinstance(a, argparse._SubParsersAction)]
    if nested:
        return {(verb, name): part._actions for name, part in nested[0].choices.items()}
    return {(verb,): own._actions}


class Generator:
    def __init__(self):
        self.verbs = {words: taken for verb in VERBS for words, taken in actions(verb).items()}

    def line(self, seed: int) -> Line:
        chance = random.Random(seed)
        words, taken = chance.choice(sorted(self.verbs.items(), key=lambda item: item[0]))
        options = [a for a in taken if a.option_strings and not NEVER & set(a.option_strings)]
        if chance.random() < WILD:
            positional = [a for a in taken if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]
            return self.wild(chance, words, positional, options)
        return self.near(chance, words, options)

    # -- anything

    def wild(
        self,
        chance: random.Random,
        words: tuple[str, ...],
        positional: Sequence[argparse.Action],
        options: Sequence[argparse.Action],
    ) -> Line:
        line = list(garbled(chance, words) if chance.random() < 0.05 else words)
        for action in positional:
            if chance.random() < 0.9:
                line.append(any_value(chance, action))
        for action in chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2, 3, 6)))):
            line += any_option(chance, action)
        line += ["--json"] if chance.random() < 0.4 else []
        if words == ("run",) and chance.random() < 0.5:
            return Line([*line, "--dry-run"])
        if GOOD[words].works or words in (("run",), ("curve",)):
            return Line([*line, chance.choice(REFUSED)], (1, 2))
        return Line(line)

    # -- a good line, and what is wrong with it

    def near(self, chance: random.Random, words: tuple[str, ...], options: Sequence[argparse.Action]) -> Line:
        good = GOOD[words]
        odd = chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2, 3))))
        is_bad = good.works or (bool(good.bad) and (not odd or chance.random() < 0.4))
        more = [word for action in odd for word in taken_option(chance, action)]
        has_json = any("--json" in action.option_strings for action in options)
        as_json = ["--json"] if has_json and chance.random() < 0.4 else []
        ending = chance.choice(good.bad).split() if is_bad else []
        codes = (0, 1, 2) if not is_bad else (1, 2) if odd else (2,)
        return Line([*words, *good.line.split(), *more, *as_json, *ending], codes)


def garbled(chance: random.Random, words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        yield chance.choice((word[:-1], word.upper(), word + "x", chance.choice(VALUES)))


def any_option(chance: random.Random, action: argparse.Action) -> list[str]:
    name = chance.choice(action.option_strings)
    if action.nargs == 0:
        return [name]
    value = any_value(chance, action)
    return chance.choice(([name, value], [f"{name}={value}"], [name], [name, value, name, value]))


def any_value(chance: random.Random, action: argparse.Action) -> str:
    if action.choices and chance.random() < 0.3:
        return str(chance.choice(list(action.choices)))
    if action.type is Path or action.dest == "tier":
        return taken_value(chance, action)
    return chance.choice(chance.choice((VALUES, NAMES, PATHS)))


def taken_option(chance: random.Random, action: argparse.Action) -> list[str]:
    """One that argparse takes."""
    name = chance.choice(action.option_strings)
    return [name] if action.nargs == 0 else [f"{name}={taken_value(chance, action)}"]


def taken_value(chance: random.Random, action: argparse.Action) -> str:
    if action.choices:
        return str(chance.choice(list(action.choices)))
    if action.dest == "tier":
        return chance.choice(TIERS)
    if action.type is Path:
        is_written = action.dest in ("output", "figures", "file")
        return chance.choice(OUTPUTS if is_written else (*PATHS, *(v for v in VALUES if v not in ROOTS)))
    if action.type in (int, float):
        return chance.choice(WHOLE if action.type is int else NUMBERS)
    return chance.choice(chance.choice((VALUES, NAMES, PATHS)))
