"""Records are whole and follow from their settings; tables are made from them, and those on disk are these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmark.leaderboard import FORMATS, read_leaderboard, render
from benchmark.records.cell import PROFILES, digest
from benchmark.records.record import HEADLINE, Record
from benchmark.verify.check import Check, Selection
from benchmark.verify.documents import check_document

TIER = "tables"
PROVENANCE = ("created", "commit", "data_fingerprint", "data_source", "mask_hash", "scorer_version", "packages")
COST = ("parameters", "steps", "fit_seconds", "predict_seconds")
EXTENSIONS = {"md": "md", "tex": "latex", "csv": "csv", "json": "json"}  # of a leaderboard -> its format


def check(selection: Selection) -> Iterator[Check]:
    for path, record in selection.found:
        faults = record_faults(record) if isinstance(record, Record) else [str(record)]
        yield Check(TIER, path, tuple(faults))
    if not selection.wanted:  # of a part of the records no table says what those on disk say
        yield from _boards(selection.results)
        for path in sorted({*selection.results.rglob("*.md"), selection.results.parent / "README.md"}):
            if path.is_file() and (faults := check_document(path, selection)) is not None:
                yield Check(TIER, path, tuple(faults), "table of a document")


def record_faults(record: Record) -> list[str]:
    """What is missing or does not follow from the rest."""
    faults = []
    if record.key != digest(record.settings):
        faults.append("its key is not the digest of its settings")
    if record.state != "done":
        return faults if record.reason else [*faults, f"{record.state} without a reason"]
    faults += [f"provenance without {name}" for name in PROVENANCE if name not in record.provenance]
    faults += [f"cost without {name}" for name in COST if record.cost.get(name) is None]
    count, asked = len(record.headline.values), record.settings.get("evaluation", {}).get("trajectories")
    masks = int(record.task.get("masks") or 1)
    if asked is not None and count != asked * masks:
        faults.append(f"{count} values of {HEADLINE}, {asked * masks} were asked for")
    for name, score in record.metrics.items():
        if score.values and len(score.values) != count:
            faults.append(f"{len(score.values)} values of {name}, {count} of {HEADLINE}")
    return faults


def _boards(results: Path) -> Iterator[Check]:
    """Every format of every profile is made; files of an earlier time are compared with what is made now."""
    for profile in PROFILES:
        if not (results / profile).is_dir():
            continue
        board = read_leaderboard(results, profile)
        faults = []
        for format in FORMATS:
            try:
                render(board, format)
            except Exception as error:  # whatever it is, the table cannot be made
                faults.append(f"{format}: {type(error).__name__}: {error}")
        yield Check(TIER, results / profile, tuple(faults), "tables made from these records")
        for path in _written(results, profile):
            same = path.read_text(encoding="utf-8") == render(board, EXTENSIONS[path.suffix[1:]])
            yield Check(TIER, path, () if same else ("is not what the records give; write it again",), "table on disk")


def _written(results: Path, profile: str) -> Iterator[Path]:
    """Leaderboards that lie with the records of a profile; one above all profiles is of the default's."""
    folders = [results / profile, *([results] if profile == "laptop" else [])]
    for folder in folders:
        yield from (path for path in sorted(folder.glob("leaderboard.*")) if path.suffix[1:] in EXTENSIONS)
