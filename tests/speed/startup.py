"""Start-up of `list` against a bare interpreter with json and argparse: `python -m tests.speed.startup`."""

from __future__ import annotations

import subprocess
import sys

from tests.speed.measure import interleaved, parser, report, warn_if_busy


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()

    def command(*arguments: str):
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    commands = {"list": command("-m", "benchmark", "list"), "bare": command("-c", "import json, argparse")}
    times = interleaved(commands, repeats=15)
    print(f"list {1000 * times['list']:.0f} ms, bare {1000 * times['bare']:.0f} ms")
    report([("list / python -c 'import json, argparse'", times["list"] / times["bare"], "<= 3")])


if __name__ == "__main__":
    main()
