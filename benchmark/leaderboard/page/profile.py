"""All that the page has of one profile: the board as JSON, and what is read when somebody looks as chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.display import display
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.overview import COSTS, Spread, Summary
from benchmark.leaderboard.page.chunks import Chunks
from benchmark.leaderboard.page.claims import claims_json
from benchmark.leaderboard.page.compute import compute_curves
from benchmark.leaderboard.page.details import add_details, short
from benchmark.leaderboard.page.places import add_curves, add_metrics, column_json, own_records
from benchmark.leaderboard.page.videos import add_videos
from benchmark.leaderboard.traits import traits
from benchmark.records.record import About, Record


def profile_json(board: Leaderboard, chunks: Chunks) -> dict[str, Any]:
    """Everything but videos."""
    own, notes = own_records(board), {}
    methods = list(board.methods)
    abouts = {record.cell.method: record.about for record in board.records if record.about}
    columns = [column_json(column, methods, own, notes) for column in board.columns]
    scored = {method for column in board.columns for method, entry in column.entries.items() if entry.mean is not None}
    return {
        "title": text.title(board),
        "heading": text.heading(board),
        "legend": [*text.legend(board), f"{text.caption(board.samples)}", *traits(board.records, scored)],
        "overviewNotes": text.overview_notes(board.overview),
        "metric": board.shape.measure.name,
        "metrics": add_metrics(board, own, chunks),
        "methods": [_method(method, board, abouts.get(method)) for method in methods],
        "columns": columns,
        "datasets": ordered((column.dataset for column in board.columns), "datasets"),
        "tasks": ordered((column.task for column in board.columns), "tasks"),
        "curves": add_curves(board, own, chunks),
        "notes": list(notes),
        "overview": [_summary(one) for one in board.overview.summaries],
        "records": [_record(record, methods) for record in board.records],
        "details": add_details(board.records, chunks),
        "compute": compute_curves(board),
        "claims": None if (claims := claims_json(board)) is None else chunks.add_json(claims),
        "problems": list(board.problems),
    }


def videos_json(board: Leaderboard, runs: Path | None, chunks: Chunks, room: int) -> dict[str, Any]:
    videos, reasons = add_videos(board.records, runs, chunks, room)
    return {"videos": videos, "noVideo": reasons}


def _method(name: str, board: Leaderboard, about: About | None) -> dict[str, Any]:
    return {
        "name": name,
        "label": display(name),
        "kind": "reference" if name in board.references else "learned",
        "equation": bool(about and about.uses_equation),
        "scope": about.scope if about else "",
        "aids": list(about.aids) if about else [],
    }


def _summary(one: Summary) -> dict[str, Any]:
    ranking = one.ranking
    return {
        "method": one.method,
        **one.states,
        "seeds": "" if one.seeds is None else "–".join(str(n) for n in sorted(set(one.seeds))),
        "rank": ranking and short(ranking.rank),
        "cells": ranking and ranking.cells,
        "met": f"{ranking.met}/{ranking.competitors}" if ranking else "",
        "ratio": ranking and short(ranking.ratio),
        **{name: _median(one.costs.get(name)) for name in COSTS},
    }


def _median(spread: Spread | None) -> float | None:
    return None if spread is None else short(spread.median)


def _record(record: Record, methods: list[str]) -> dict[str, Any]:
    provenance, score = record.provenance, record.headline.in_percent() if record.state == "done" else None
    return {
        "method": methods.index(record.cell.method),
        "task": record.cell.task,
        "dataset": record.cell.dataset,
        "seed": record.cell.seed,
        "state": record.state,
        "error": score and short(score.mean),
        "n": record.basis.trajectories if score else None,
        "source": record.source if score else "",
        "created": record.created[:10],
        "commit": str(provenance.get("commit") or "")[:10] + (" (changed)" if provenance.get("dirty") else ""),
        "reason": record.reason,
    }
