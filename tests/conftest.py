"""One thread a process: the tests are small, and two busy processes with two threads each slow each other down."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
