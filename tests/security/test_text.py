"""What a stranger's record, file name or study says stays text in every format: no markup, no macros, no scripts."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.leaderboard import FORMATS
from benchmark.leaderboard import page as page_sources
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import Record
from benchmark.records.strict import visible
from tests.benchmark.leaderboard.synthetic import about, done

HOSTILE = (
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "]]><!--", "--><b>",
    '" onmouseover="alert(1)',
    "\\input{/etc/passwd}", "\\write18{id}", "}$^^5c", "%\\end{document}", "[x](javascript:alert(1))", "![x](http://x.test)",
    "{{ 7 * 7 }}{% raw %}", "`id` $(id)", "=cmd|' /C calc'!A0", "\x1b[2J\x1b]0;owned\x07", "\u202etxt.exe",
    "a\n\n# b\n|c|",
)  # fmt: skip
TAGS = re.compile(r"(?<!\\)<(?!/?(?:sup|u|br)>)[a-zA-Z/!]")  # of Markdown, but for the few that tables use
DATA = ("application/json", "text/plain")  # scripts that no browser runs
MACROS = re.compile(r"\\(?:input|write|include|end\{document)")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Records whose every free text is hostile, and a file that is no record under a hostile name."""
    root = tmp_path_factory.mktemp("hostile") / "results"
    for number, text in enumerate(HOSTILE):
        cell = Cell("fno", "cont_1", "navier_stokes", "smoke", number)
        record = done(cell, [1.0, 2.0], remark=text, data_source=text, commit=text, device=text)
        diagnostics = {"converged": [text]}
        write_record(cell.path(root), replace(record, cost=record.cost | {text: text, "diagnostics": diagnostics}))
        failed = Cell("pino", "cont_1", "navier_stokes", "smoke", number)
        write_record(failed.path(root), Record(failed, "failed", text, text, about=about("pino"), remark=text))
        variant = replace(cell, method="shu", variant=f"v{number}")
        record = replace(done(variant, [1.0, 2.0]), changes={text: text}, settings={"task": {text: text}})
        write_record(variant.path(root), record)
        if "/" not in text:
            (cell.path(root).parent / f"{text}-s1.json").write_text(text)
    return root


@pytest.fixture(scope="module")
def texts(results) -> dict[str, str]:
    folder = results.parent / "out"
    arguments = ["--results", str(results), "--profile", "smoke", "--include", "all", "--output", str(folder)]
    assert main(["leaderboard", "--format", "all", *arguments]) == 1  # some could not be read
    found = {path.suffix[1:]: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert len(found) == len(FORMATS)
    return found


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.handlers, self.tags = 0, [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.scripts += tag == "script" and dict(attrs).get("type") not in DATA
        self.handlers += [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")]


def page(text: str) -> Page:
    parsed = Page()
    parsed.feed(text)
    return parsed


def test_html_has_no_more_scripts_than_without_any_record(texts, tmp_path):
    plain = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
    write_record(plain.path(tmp_path / "results"), done(plain, [1.0, 2.0]))
    arguments = ["--results", str(tmp_path / "results"), "--profile", "smoke", "--output", str(tmp_path)]
    assert main(["leaderboard", "--format", "html", *arguments]) == 0
    harmless, hostile = page((tmp_path / "leaderboard.html").read_text()), page(texts["html"])
    assert hostile.scripts == harmless.scripts and hostile.handlers == harmless.handlers == []
    assert not hostile.tags & {"img", "b", "iframe"}


def test_scripts_of_the_page_never_take_text_for_markup():
    files = [*Path(page_sources.__file__).parent.glob("js/**/*.js")]
    sinks = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:")
    assert files and [file.name for file in files if sinks.search(file.read_text(encoding="utf-8"))] == []


def test_markdown_passes_no_markup_on(texts):
    text = texts["md"]
    assert "alert(1)" in text and TAGS.findall(text) == []
    assert not re.search(r"(?<!\\)\]\((?!#)", text), "a link"
    assert "\n# b" not in text


def test_latex_passes_no_macro_on(texts):
    text = "\n".join(line for line in texts["tex"].splitlines() if not line.startswith("%"))
    assert "alert(1)" in text and MACROS.findall(text) == []
    assert text.isascii() and "^^" not in text
    comments = [line for line in texts["tex"].splitlines() if line.startswith("%")]
    assert all("\r" not in line and "\x0c" not in line for line in comments)


def test_csv_and_json_are_whole(texts):
    rows = list(csv.reader(io.StringIO(texts["csv"])))
    assert len({len(row) for row in rows}) == 1
    assert {cell["reason"] for cell in json.loads(texts["json"])["cells"]} >= {visible(text) for text in HOSTILE}


def test_a_terminal_gets_no_control_characters(results, capsys):
    arguments = ["--results", str(results)]
    main(["leaderboard", "--profile", "smoke", "--include", "all", *arguments])
    main(["records", "list", *arguments])
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and "\x07" not in out + err and "\u202e" not in out + err
