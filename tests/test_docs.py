"""Links in the documents lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    p for p in ROOT.rglob("*.md") if not any(part.startswith((".", "runs")) for part in p.parts[len(ROOT.parts) :])
)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_repository(path):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    missing = [t for t in targets if not (path.parent / t).exists()]
    assert not missing
