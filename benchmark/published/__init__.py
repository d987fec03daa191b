"""What the VideoPDE paper publishes, as data, and what records say of it. Never imports torch.

    comparison = compare(records, "laptop")      # Comparison: orderings and claims as Verdicts, contradictions, numbers
    comparison.counts("ordering")                # {"reproduced": 12, "contradicted": 3, ...}, 306 in all

    videopde.csv, numbers    the 187 printed numbers, each with its cell here, and the 306 orderings that follow
    claims.yaml, claims      what the paper claims (Q1-Q33) as relations between errors
    evidence                 records -> the test of a relation
    verdicts                 tests -> reproduced, contradicted, undecided, not run
    own                      the paper against itself
    compare                  all of it together
    text, tidy               as Markdown and LaTeX, as csv and JSON

An ordering is a pair of methods whose errors the paper prints for the same task of the same dataset, in whichever
tables: 30 columns with more than one, 306 pairs. Times, studies and observation rates are compared in claims.
"""

from __future__ import annotations

from benchmark.published.compare import Comparison, compare
from benchmark.published.numbers import Number, read_numbers
from benchmark.published.own import Contradiction
from benchmark.published.verdicts import STATES, Verdict

__all__ = ["STATES", "Comparison", "Contradiction", "Number", "Verdict", "compare", "read_numbers"]
