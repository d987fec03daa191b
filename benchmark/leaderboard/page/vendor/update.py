"""Fetch the libraries of the page anew: `python -m benchmark.leaderboard.page.vendor.update`, which needs npm.

For whoever works on the suite: users have the files already. To move to another version, change it here, run this, then
`python -m pytest -m browser tests/browser`. The files are those of npm's packages without their notes on source maps,
which a browser's tools would try to fetch. `versions.json` says what they are, and `LICENSES.txt` on which terms.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Library(NamedTuple):
    package: str
    version: str
    licence: str  # file in the package
    files: tuple[str, ...]


LIBRARIES = (
    Library("tabulator-tables", "6.5.3", "LICENSE", ("dist/js/tabulator.min.js", "dist/css/tabulator_simple.min.css")),
    Library("chart.js", "4.6.1", "LICENSE.md", ("dist/chart.umd.min.js",)),
    Library("@kurkle/color", "0.3.2", "LICENSE.md", ()),  # inside chart.umd.min.js
)


def main() -> None:
    versions, licences = {}, []
    for library in LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            root, integrity = fetch(library, Path(folder))
            digests = {Path(name).name: copy(root / name) for name in library.files}
            licences.append(f"{library.package} {library.version}\n\n{(root / library.licence).read_text().strip()}\n")
        versions[library.package] = {"version": library.version, "npm": integrity, "sha256": digests}
    (FOLDER / "versions.json").write_text(json.dumps(versions, indent=1) + "\n")
    (FOLDER / "LICENSES.txt").write_text(f"\n{'-' * 80}\n\n".join(licences))


def fetch(library: Library, folder: Path) -> tuple[Path, str]:
    """The package unpacked, and the digest that npm has checked."""
    command = ["npm", "pack", "--json", f"{library.package}@{library.version}"]
    (packed,) = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "package", packed["integrity"]


def copy(source: Path) -> str:
    text = re.sub(r"(//# sourceMappingURL=\S*|/\*# sourceMappingURL=.*?\*/)\s*", "", source.read_text(encoding="utf-8"))
    content = (text.rstrip() + "\n").encode()
    (FOLDER / source.name).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main()
