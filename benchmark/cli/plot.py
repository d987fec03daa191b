"""`plot`: figures of a paper's kind, out of the predictions and the records that `run` left."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmark.cli.arguments import add_json, add_profile, add_verb, names, whole_numbers
from benchmark.errors import UserError

EXAMPLES = """  python -m benchmark plot kriging,linear --task cont_3
  python -m benchmark plot kriging,linear --task cont_3 --format gif
  python -m benchmark plot kriging --task cont_1 --dataset helmholtz --figure noise_seeds
  python -m benchmark plot all --dataset kolmogorov --figure long_range
  python -m benchmark plot all --dataset wave_layer,navier_stokes,kolmogorov --figure rates
"""
FIGURES = """figures (--figure; default: errors):
  of the predictions that `run` keeps in runs/, for its first 4 test trajectories (--save-predictions)
    errors       truth, sensors, and each method's answer and error on one trajectory; also as gif, mp4
    noise_seeds  samples of one method from different noise seeds, squares where they differ most
    spectra      energy at each wavenumber: truth, answers, errors
  of the records in results/
    long_range   error of the mean over the first n frames, and of frame n alone (task long_range)
    rates        error against the observed share: a panel a dataset (tasks cont_05,cont_1,cont_3)
    cost         error against the seconds of a prediction and of a fit, with the Pareto fronts
    compute      error against training compute, of the fits that `curve` made
    calibration  methods that sample: spread against error, coverage of their intervals
"""


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "plot", "draw predictions and records: error maps, films, and figures of a paper's kind")
    parser.epilog = f"{FIGURES}\nexamples:\n{EXAMPLES}"
    parser.add_argument(
        "methods",
        nargs="+",
        metavar="METHOD",
        help="comma-separated; a variant as fno@wide; all: every one that is there",
    )
    parser.add_argument("--figure", default="errors", metavar="KIND", help="one of those below (default: errors)")
    parser.add_argument("--task", action="append", default=[], metavar="T", help="one task (rates: several)")
    parser.add_argument("--dataset", action="append", metavar="D", help="one (rates: several; default: navier_stokes)")
    add_profile(parser)
    parser.add_argument("--seed", default="0", metavar="N[,N]", help="of the fit; of records also several (default: 0)")
    parser.add_argument("--trajectory", type=int, default=0, metavar="I", help="of the test set, from 0 (default: 0)")
    parser.add_argument(
        "--frames", metavar="T,T", help="frames to show, from 0 (default: a few, evenly spread; in a film all)"
    )
    parser.add_argument("--channel", metavar="NAME", help="of a field with several (default: the first)")
    parser.add_argument("--log", action="store_true", help="errors on a logarithmic scale (errors, long_range)")
    parser.add_argument(
        "--samples", choices=("one", "mean"), default="one",
        help="rates, cost, compute, of methods that sample: the error of one sample, or of their mean (default: one)",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="default: runs/")
    parser.add_argument("--output", type=Path, default=Path("figures"), metavar="DIR", help="default: figures/")
    parser.add_argument("--format", default="png,pdf", metavar="F,F", help="png, pdf, gif, mp4 (default: png,pdf)")
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.figures.plot import FORMATS, Wanted, plot
    from benchmark.planning.registry import near

    formats = names([arguments.format])
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"--format: unknown format {name!r}{near(name, FORMATS)}")
    if not formats:
        raise UserError(f"--format: expected some of {', '.join(FORMATS)}")
    datasets = names(arguments.dataset or ["navier_stokes"])
    if not datasets:
        raise UserError(f"--dataset: expected a name, got {','.join(arguments.dataset)!r}")
    wanted = Wanted(
        arguments.figure,
        tuple(label.strip() for label in names(arguments.methods)),
        tasks=names(arguments.task),
        datasets=datasets,
        profile=arguments.profile,
        seeds=whole_numbers("--seed", arguments.seed),
        trajectory=arguments.trajectory,
        frames=whole_numbers("--frames", arguments.frames) if arguments.frames is not None else None,
        channel=arguments.channel,
        log_errors=arguments.log,
        samples=arguments.samples,
        results=arguments.results,
        runs=arguments.runs,
    )
    drawn = plot(wanted)
    files = [str(path) for path in drawn.save(arguments.output, formats)]
    if arguments.json:
        print(json.dumps({"figure": wanted.figure, "files": files, "notes": list(drawn.notes)}, indent=1))
        return 0
    for note in drawn.notes:
        print(f"note: {note}", file=sys.stderr)
    print("\n".join(files))
    return 0
