import subprocess
import sys
import warnings
from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.blocks.conditioning import Conditioning, ObservedFrames, Shape
from methods.blocks.learned import count
from methods.blocks.networks.fourier import Architecture, operator
from methods.blocks.training.checkpoint import load_weights, tensors
from methods.fno import FNO, SMOKE, OneShot, Recurrent, SpaceTime
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load, planned

HEAT = HeatDataset.small(frames=5, long_frames=9)
TINY = Architecture("2d", width=8, modes=6, time_modes=4, layers=2, projection=1)
SHAPE = Shape.planned(tasks.FWD_FULL, HEAT, with_coordinates=True)


def settings(form, **training):
    return replace(
        SMOKE,
        symmetries=False,
        architecture=replace(TINY, form=form),
        training=replace(SMOKE.training, **{"steps": 3, "batch": 4, "validations": 1} | training),
    )


@cache
def data(split, count=8, frames=None):
    return HEAT.trajectories(split, count, frames)


def conditioning(shape, batch=2):
    frame, fields = shape.conditioning
    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(batch, len(shape.observed.frames), frame, *shape.grid.shape, generator=generator)
    stands = torch.randn(batch, fields, *shape.grid.shape, generator=generator)
    return Conditioning(frames, stands, frames[:, :1].expand(-1, shape.frames, -1, -1, -1))


@pytest.mark.parametrize("form", ["3d", "2d", "recurrent"])
@pytest.mark.parametrize("task", [tasks.FWD_FULL, tasks.INV_FULL, tasks.CONT_3, tasks.LONG_RANGE])
def test_all_forms_serve_their_tasks(form, task):
    method = FNO(settings(form))
    if method.unsupported(task, HEAT):
        assert form == "recurrent" and task is tasks.CONT_3
        with pytest.raises(ValueError, match="one frame in full"):
            method.fit(data("train"), data("valid"), [task], 0, Run())
        return
    method.fit(data("train"), data("valid"), [task], 0, Run())
    frames = 9 if task is tasks.LONG_RANGE else None
    seen = task.observe(data("test", 4, frames), generators(4))
    prediction = method.predict(seen, 0)
    answer, windows = prediction.u, 2 if frames else 1
    assert answer.shape == (1, *seen.values.shape) and answer.isfinite().all()
    assert prediction.evaluations == windows * (method.shape_.frames - 1 if form == "recurrent" else 1)
    restored = FNO(settings(form)).restore(method.state(), data("train"))
    assert torch.equal(restored.predict(seen, 0).u, answer)


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="3d, 2d, recurrent"):
        settings("1d")


def test_time_is_right_for_odd_numbers_of_frames():
    """Shifted along t, a 3-D operator without padding answers shifted: 5 frames are an odd number."""
    net = SpaceTime(replace(TINY, form="3d", padding=0.0), SHAPE).operator
    x = torch.randn(1, 6, 16, 16, 5)
    with torch.no_grad():
        torch.testing.assert_close(net(x.roll(2, -1)), net(x).roll(2, -1), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(net(x.roll(3, 2)), net(x).roll(3, 2), rtol=1e-4, atol=1e-6)


def test_an_odd_grid_is_refused():
    grid = replace(HEAT.grid(5), shape=(15, 16))
    with pytest.raises(ValueError, match="even number of points"):
        operator(TINY, grid, 1, 1)


def test_walls_are_padded_and_a_torus_is_not():
    assert operator(TINY, HEAT.grid(5), 1, 1).domain_padding is None
    walls = operator(TINY, replace(HEAT.grid(5), boundary="dirichlet"), 1, 1, frames=5)
    assert walls.domain_padding.domain_padding == [0.125, 0.125, 0.125]
    assert operator(TINY, HEAT.grid(5), 1, 1, frames=5).domain_padding.domain_padding == [0.0, 0.0, 0.125]


def test_the_recurrent_form_steps_forwards_backwards_and_remembers():
    forwards = Recurrent(TINY, SHAPE)
    backwards = Recurrent(TINY, replace(SHAPE, observed=ObservedFrames((4,), True)))
    load_weights(backwards, tensors(forwards))
    with torch.no_grad():
        a, b = forwards(conditioning(SHAPE)), backwards(conditioning(SHAPE))
    assert a.shape == (2, 5, 1, 16, 16) and not a[:, 0].any() and a[:, 1:].any()
    assert torch.equal(a, b.flip(1))
    second_order = type("Wave", (type(SHAPE.equation),), {"time_order": 2})()
    remembers = Recurrent(TINY, replace(SHAPE, equation=second_order))
    assert remembers.operator.in_channels == forwards.operator.in_channels + 1


def test_frames_of_a_continuous_task_sit_at_their_times():
    shape = replace(SHAPE, observed=ObservedFrames(tuple(range(5)), False))
    assert SpaceTime(TINY, shape).operator.in_channels == 3 + 4 + 1
    assert OneShot(TINY, shape).operator.in_channels == 5 * 3 + 4


def test_weights_are_tensors_only_and_complex_ones_count_twice():
    net = OneShot(TINY, SHAPE)
    twin = OneShot(TINY, SHAPE)
    load_weights(twin, tensors(net))
    inputs = conditioning(SHAPE)
    assert torch.equal(net(inputs), twin(inputs))
    spectral = [p for p in net.parameters() if p.is_complex()]
    assert len(spectral) == 2 and count(net) == sum(p.numel() for p in net.parameters()) + sum(
        p.numel() for p in spectral
    )
    assert planned(FNO, "laptop") == pytest.approx(1.2e6, rel=0.05)


def test_the_import_leaves_the_warning_filters_alone():
    code = (
        "import warnings; before = list(warnings.filters)\n"
        "from methods.blocks.networks.fourier import _import_fno; import sys; assert 'neuralop' not in sys.modules\n"
        "before = list(warnings.filters); _import_fno(); assert warnings.filters == before, warnings.filters"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_building_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneShot(TINY, SHAPE)(conditioning(SHAPE))


@pytest.mark.slow
def test_sixteen_trajectories_are_learned_by_heart():
    cls = registry().load("datasets", "navier_stokes")
    dataset = cls(cls.profiles["smoke"])
    train = load(dataset, "train")
    training = replace(SMOKE.training, steps=600, batch=16)
    method = FNO(replace(SMOKE, training=training, symmetries=False))
    method.fit(train, train, [tasks.FWD_FULL], 0, Run())
    answer = method.predict(tasks.FWD_FULL.observe(train, generators(len(train))), 0).u[0]
    errors = (answer - train.u).flatten(1).norm(dim=1) / train.u.flatten(1).norm(dim=1)
    assert errors.mean() < 0.01
