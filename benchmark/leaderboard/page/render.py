"""The page as one file: template, style, scripts and data, with the digests of all that may run.

A Content-Security-Policy names the sha256 of each script and of the style: whatever a record says, no browser runs it,
and nothing is fetched. Text of records stands in JSON alone, in which < is written as an escape.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from benchmark.leaderboard.page.chunks import Chunks, as_json

SCRIPTS = (
    "dom", "store", "state", "theme", "numbers", "palette", "filters", "places", "board", "lists", "figure",
    "figures", "video", "player", "record", "dialog", "claims", "main",
)  # fmt: skip
VENDORS = ("tabulator.min.js", "chart.umd.min.js")
STYLES = ("vendor/tabulator_simple.min.css", "style.css")


def render_page(title: str, data: dict[str, Any], chunks: Chunks) -> str:
    from jinja2 import Environment

    scripts = [*(_read(f"vendor/{name}") for name in VENDORS), _own_script()]
    style = "\n".join(map(_read, STYLES))
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_read("page.html.j2"))
    text = template.render(
        title=title,
        policy=_policy(scripts, style),
        style=style,
        licences=_read("vendor/LICENSES.txt"),
        vendors=scripts[:-1],
        script=scripts[-1],
        data=as_json(data).replace("<", "\\u003c"),
        chunks=chunks.texts,
    )
    return f"{text}\n"


def _own_script() -> str:
    """One module, so that its names are its own; files in an order in which each needs only those before it."""
    return "\n" + "\n".join(_read(f"js/{name}.js") for name in SCRIPTS)


def _policy(scripts: list[str], style: str) -> str:
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    """Newlines as in the file: a browser reads all kinds as \\n before it takes the digest."""
    return (
        files("benchmark.leaderboard.page")
        .joinpath(name)
        .read_text(encoding="utf-8")
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )
