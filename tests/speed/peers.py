"""Trajectories a second against exponax, both on all cores: `python -m tests.speed.peers --peer PYTHON`.

PYTHON is the interpreter of an environment with exponax (`pip install exponax`); it is no dependency of ours. Both
sides use one single-threaded process per core, take turns, and are compared at equal accuracy: the error against their
own scheme with a quarter of the time step.

    navier_stokes  64^2, T = 1, 20 frames, decaying: IFRK4 with one step per frame against ETDRK2 with 100 steps
    kolmogorov     64^2, Re = 200, 5 time units: IFRK4 and ETDRK4, both with dt = 1/64
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.speed.measure import parser, report, sized, warn_if_busy

CASES = ("navier_stokes", "kolmogorov")
OURS = """
import json, sys, time, torch
torch.set_num_threads(1)
from datasets.vorticity import VorticityFlow
from benchmark.core import keyed_generator
from datasets.random_fields import periodic_modes
case, batch, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
n = 64
if case == "navier_stokes":
    flow, frames, dt = VorticityFlow(n, 1.0, 1e-3), [i * 0.05 for i in range(21)], 0.05
    modes = lambda i: periodic_modes(flow.cutoff, 2.5, 7.0, 2 * torch.pi, keyed_generator("peer", i))
else:
    force = lambda x, y: -4 * torch.cos(4 * y) + 0 * x
    flow, frames, dt = VorticityFlow(n, 2 * torch.pi, 1 / 200, 0.1, force), [i * 0.25 for i in range(21)], 1 / 64
    modes = lambda i: periodic_modes(flow.cutoff, 2.5, 7.0, 1.0, keyed_generator("peer", i))
w = torch.stack([modes(i) for i in range(batch)])
with torch.inference_mode():
    w32 = w.to(torch.complex64)
    flow.frames(w32, frames[:2], dt)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        u = flow.frames(w32, frames, dt)
        times.append(time.perf_counter() - began)
    early = 3 if case == "kolmogorov" else -1
    a = flow.frames(w32[:8], frames, dt)[:, early]
    b = flow.frames(w32[:8], frames, dt / 4)[:, early]
error = ((a - b).flatten(1).norm(dim=1) / b.flatten(1).norm(dim=1)).median().item()
print(json.dumps({"seconds": sorted(times)[len(times) // 2], "error": error}))
"""

THEIRS = """
import json, sys, time
import jax, jax.numpy as jnp, exponax as ex
case, batch, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
n = 64
if case == "navier_stokes":
    make = lambda dt: ex.stepper.NavierStokesVorticity(2, 1.0, n, dt, diffusivity=1e-3, order=2)
    dt, inner, frames, scale = 0.01, 5, 20, 0.26
else:
    make = lambda dt: ex.stepper.KolmogorovFlowVorticity(
        2, 2 * jnp.pi, n, dt, diffusivity=1 / 200, drag=-0.1, injection_mode=4, injection_scale=1.0, order=4)
    dt, inner, frames, scale = 1 / 64, 16, 20, 2.0
law = ex.ic.GaussianRandomField(2, domain_extent=1.0, powerlaw_exponent=4.0, zero_mean=True, std_one=True)
keys = jax.random.split(jax.random.PRNGKey(0), batch)
u0 = scale * jax.vmap(lambda k: law(n, key=k))(keys)
def run(factor):
    stepper = ex.RepeatedStepper(make(dt / factor), inner * factor)
    return jax.jit(jax.vmap(ex.rollout(stepper, frames, include_init=True)))
solve = run(1)
jax.block_until_ready(solve(u0))
times = []
for _ in range(rounds):
    began = time.perf_counter()
    u = jax.block_until_ready(solve(u0))
    times.append(time.perf_counter() - began)
early = 3 if case == "kolmogorov" else -1
a, b = u[:8, early], run(4)(u0[:8])[:, early]
norm = lambda x: jnp.sqrt((x ** 2).sum((1, 2, 3)))
print(json.dumps({"seconds": sorted(times)[len(times) // 2], "error": float(jnp.median(norm(a - b) / norm(b)))}))
"""


def measure(python: str, program: str, case: str, batch: int, rounds: int) -> tuple[float, float]:
    """Trajectories per second of one process per core at the same time, and the error."""
    cores = sorted(os.sched_getaffinity(0))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path.cwd())}
    command = [python, "-c", program, case, str(batch), str(rounds)]
    running = [
        subprocess.Popen(["taskset", "-c", str(core), *command], stdout=subprocess.PIPE, text=True, env=environment)
        for core in cores
    ]
    answers = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
    return sum(batch / a["seconds"] for a in answers), answers[0]["error"]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peer", metavar="PYTHON", help="interpreter with exponax installed")
    peer = options.parse_args().peer
    warn_if_busy()
    batch, rounds = sized((8, 5), (2, 1))
    if peer is None:
        for case in CASES:
            speed, error = measure(sys.executable, OURS, case, batch, rounds)
            print(f"{case}: {speed:.1f} trajectories/s (error {error:.1e})")
        print("nothing to compare with: `pip install exponax` in another environment and name its --peer PYTHON")
        return
    rows = []
    for case in CASES:
        ours, theirs = [], []
        for _ in range(3):  # take turns
            ours.append(measure(sys.executable, OURS, case, batch, rounds))
            theirs.append(measure(peer, THEIRS, case, batch, rounds))
        (our_speed, our_error), (peer_speed, peer_error) = (sorted(side)[1] for side in (ours, theirs))
        print(
            f"{case}: {our_speed:.1f} trajectories/s (error {our_error:.1e}), peer {peer_speed:.1f} ({peer_error:.1e})"
        )
        rows.append((f"{case}: speed / exponax on all cores", our_speed / peer_speed, ">= 1"))
    report(rows)


if __name__ == "__main__":
    main()
