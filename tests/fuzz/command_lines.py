"""Bad command lines over all verbs: made of the verbs' own options, with values that cannot be.

Each line is a function of its seed. None asks for work: where the rest is fine, an option that must be refused stands
at its end, or `--dry-run` does.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from benchmark.cli import VERBS, parser

NAMES = (
    "fno",
    "mean",
    "kriging",
    "cont_1",
    "cont_3",
    "navier_stokes",
    "wave_layer",
    "smoke",
    "laptop",
    "all",
    "references",
)
VALUES = (
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "1e400",
    "NaN",
    "inf",
    "-0.0",
    "9" * 40,
    "0x10",
    "1,2,",
    ",",
    ",,,",
    "a,b",
    "none",
    "null",
    "../..",
    "/",
    "/dev/null",
    "/proc/self/mem",
    "/nowhere/at/all",
    "~",
    ".",
    "a\nb",
    "\x1b[2J",
    "\u202e",
    "ä ö",
    "\udcff",
    "%s%n",
    "{}",
    "${HOME}",
    "$(id)",
    "`id`",
    "; rm -rf x",
    "' OR 1=1",
    "<script>",
    "\\",
    "*",
    "[",
    "(",
    "fn0",
    "FNO",
    "fno@x",
    "x" * 5000,
    "[" * 3000,
    "{a: {b: {c: 1}}}",
    "!!python/object/apply:os.getcwd []",
    "&a [*a]",
    "a: b: c",
    "? ",
    "width=",
    "=1",
    "width=[",
    "method.width=1",
    "task.noise=-1",
    "task.noise=x",
    "task.rate=2",
    "dataset.sizes.train=0",
    "training.steps=-5",
    "training.steps=1e9999",
    "dataset.sizes.frames=1.5",
    "cuda",
    "cuda:99",
    "cpu:7",
    "mps",
    "auto",
    "json",
    "md",
    "html,md",
    "exe",
)
PATHS = (
    "results",
    "nothing",
    "broken.yaml",
    "bomb.yaml",
    "broken.py",
    "empty.py",
    "raises.py",
    "exits.py",
    "suite.yaml",
    "binary",
    "pipe",
)
NEVER = {"--help", "-h", "--version", "--yes", "--overwrite", "--fits"}
WORKING = {"check", "sweep", "budget", "data", "curve", "run", "plot"}  # refused at the end
REFUSED = ("--no-such-option", "--jobs=none", "--plugin=/nowhere.py")


def actions(verb: str) -> dict[tuple[str, ...], list[argparse.Action]]:
    """The words of a verb, with its action where it has several, and what each takes."""
    (verbs,) = [a for a in parser((verb,))._actions if isinstance(a, argparse._SubParsersAction)]
    own = verbs.choices[verb]
    nested = [a for a in own._actions if isinstance(a, argparse._SubParsersAction)]
    if nested:
        return {(verb, name): part._actions for name, part in nested[0].choices.items()}
    return {(verb,): own._actions}


class Generator:
    def __init__(self, folder: Path):
        self.files = [str(folder / name) for name in PATHS]
        self.verbs = {words: taken for verb in VERBS for words, taken in actions(verb).items()}

    def line(self, seed: int) -> list[str]:
        chance = random.Random(seed)
        words, taken = chance.choice(sorted(self.verbs.items(), key=lambda item: item[0]))
        line = list(self.garbled(chance, words) if chance.random() < 0.05 else words)
        positional = [a for a in taken if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]
        options = [a for a in taken if a.option_strings and not NEVER & set(a.option_strings)]
        for action in positional:
            if chance.random() < 0.9:
                line.append(self.value(chance, action))
        for action in chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2, 3, 6)))):
            line += self.option(chance, action)
        return [*line, *self.ending(chance, words)]

    def garbled(self, chance: random.Random, words: tuple[str, ...]) -> Iterator[str]:
        for word in words:
            yield chance.choice((word[:-1], word.upper(), word + "x", chance.choice(VALUES)))

    def option(self, chance: random.Random, action: argparse.Action) -> list[str]:
        name = chance.choice(action.option_strings)
        if action.nargs == 0:
            return [name]
        value = self.value(chance, action)
        return chance.choice(([name, value], [f"{name}={value}"], [name], [name, value, name, value]))

    def value(self, chance: random.Random, action: argparse.Action) -> str:
        if action.choices and chance.random() < 0.3:
            return str(chance.choice(list(action.choices)))
        return chance.choice(chance.choice((VALUES, NAMES, self.files)))

    def ending(self, chance: random.Random, words: tuple[str, ...]) -> list[str]:
        as_json = ["--json"] if chance.random() < 0.4 else []
        if words[0] == "run" and chance.random() < 0.5:
            return [*as_json, "--dry-run"]
        return [*as_json, *([chance.choice(REFUSED)] if words[0] in WORKING else [])]
