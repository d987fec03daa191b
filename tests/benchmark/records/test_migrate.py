from benchmark.records.cell import Cell

CELL = Cell("pino", "cont_3", "navier_stokes", "laptop", 0)
TASK = {"dropout": 0.0, "family": "continuous", "fixed": True, "masks": 1, "name": "cont_3", "noise": 0.0, "rate": 0.03}
SETTINGS = {"task": {**TASK, "window": "drop"}, "method": {"window": 8, "edm": {"steps": 5}}}


NEWER = {"linear", "residual_min", "pino_refined", "videopde_kriged", "sda", "fundps"}  # than schema 1
