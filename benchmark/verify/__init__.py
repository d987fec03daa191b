"""Does a results folder hold what it says? Four tiers, each of which asks for more than the one before.

tables        records are whole, lie where they belong and follow from their settings; every table is made from them
              without a fault, and those that lie beside them say what they say
scores        every mean and interval is that of the values that are stored with it
predictions   what was kept of the answers has the scores of the record, as far as its rounding tells
training      run again from nothing, a cell gives the same record

checks = run_tiers(("tables", "scores"), Selection(Path("results")))      # one Check a record and tier
"""

from __future__ import annotations

from benchmark.verify.check import TIERS, Check, Selection, run_tiers

__all__ = ["TIERS", "Check", "Selection", "run_tiers"]
