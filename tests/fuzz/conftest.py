"""The same examples on every run; FUZZ_SCALE=10 tries ten times as many, FUZZ_SEED=1 others."""

import os

from hypothesis import HealthCheck, settings

SCALE = int(os.environ.get("FUZZ_SCALE", 1))
settings.register_profile(
    "suite",
    max_examples=60 * SCALE,
    derandomize=SCALE == 1 and "FUZZ_SEED" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")
