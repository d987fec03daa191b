import threading
from dataclasses import replace
from itertools import islice

import pytest
import torch

from benchmark.core import Grid, Trajectories
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.batches import ShuffledBatches, Stream, ahead, derived_seed
from tests.methods.heat import Heat


def trajectories(count=10, frames=3, channels=1, steady=False, static=False, seed=0):
    g = torch.Generator().manual_seed(seed)
    u = torch.randn(count, frames, 8, 8, channels, generator=g)
    coefficients = 3500 + 650 * torch.randn(count, 8, 8, 2, generator=g) if static else None
    grid = Grid((8, 8), (1.0, 1.0), tuple(map(float, range(frames))), "periodic")
    return Trajectories(u, grid, Heat(steady=steady), coefficients)


class Lazy:
    """A set that notes how much of it is read at once."""

    def __init__(self, inner):
        self.inner, self.grid, self.equation, self.largest, self.threads = inner, inner.grid, inner.equation, 0, set()

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        piece = self.inner[index]
        self.largest = max(self.largest, len(piece))
        self.threads.add(threading.current_thread().name)
        return piece


# -- batches


def test_every_pass_visits_every_trajectory_once_in_another_order():
    batches = ShuffledBatches(trajectories(10), 4, seed=0)
    stream = [i for step in range(10) for i in batches.indices(step)]
    passes = [stream[k : k + 10] for k in range(0, 40, 10)]
    assert all(sorted(p) == list(range(10)) for p in passes)
    assert len({tuple(p) for p in passes}) == 4


def test_a_batch_depends_on_seed_and_step_alone():
    visited, fresh = ShuffledBatches(trajectories(10), 4, seed=1), ShuffledBatches(trajectories(10), 4, seed=1)
    order = [visited.indices(step) for step in range(20)]
    assert fresh.indices(13) == order[13] and visited.indices(2) == order[2]
    assert ShuffledBatches(trajectories(10), 4, seed=2).indices(13) != order[13]


def test_a_batch_may_be_larger_than_the_set():
    assert sorted(ShuffledBatches(trajectories(3), 6, seed=0).indices(0)) == [0, 0, 1, 1, 2, 2]


def test_processes_share_a_batch():
    batches = ShuffledBatches(trajectories(10), 6, seed=0)
    for world in (3, 4):  # 4: two have one example, two have two
        assert batches.indices(5) == [i for rank in range(world) for i in batches.indices(5, rank, world)]
    with pytest.raises(ValueError, match="6 examples cannot be shared by 7 processes"):
        batches.indices(0, 0, 7)


@pytest.mark.parametrize("count, size", [(0, 4), (10, 0)])
def test_empty_batches_are_refused(count, size):
    with pytest.raises(ValueError, match=f"got {size} and {count}"):
        ShuffledBatches(trajectories(count), size, seed=0)


def test_batches_are_read_ahead_in_a_thread_from_any_step():
    train = Lazy(trajectories(10))
    batches = ShuffledBatches(train, 4, seed=0)
    stream = ahead(batches, 3, "cpu")
    for step, batch in zip(range(3, 8), stream, strict=False):
        assert torch.equal(batch.u, train.inner[batches.indices(step)].u)
    stream.close()
    assert any(name.startswith("batches") for name in train.threads)


def test_an_error_while_reading_reaches_the_reader():
    def broken(step, rank, world):
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        list(islice(ahead(broken, 0, "cpu"), 1))


def test_no_two_purposes_share_a_stream():
    assert len({derived_seed(0, stream) for stream in Stream.__members__.values()}) == len(Stream.__members__)


def test_derived_seeds_differ_by_every_part():
    seeds = {derived_seed(a, b, c) for a in range(4) for b in range(4) for c in range(4)}
    assert len(seeds) == 64 and all(0 <= s < 2**63 for s in seeds)
    assert len({s % 2**32 for s in seeds}) == 64


# -- normaliser


def test_channels_get_mean_zero_and_standard_deviation_one_half():
    data = trajectories(40, channels=2, static=True)
    data = replace(data, u=data.u * torch.tensor([1e-3, 40.0]) + torch.tensor([5.0, -7.0]))
    train = Lazy(data)
    n = Normaliser.fit(train)
    x, s = n.encode(data.u), n.encode_static(data.static)
    assert train.largest <= 16 and n.mean.shape == (1, 1, 1, 2)
    for values in (x, s):
        flat = values.flatten(0, -2).double()
        torch.testing.assert_close(flat.mean(0), torch.zeros(2, dtype=torch.float64), atol=1e-3, rtol=0)
        torch.testing.assert_close(flat.std(0), torch.full((2,), 0.5, dtype=torch.float64), atol=1e-3, rtol=0)
    torch.testing.assert_close(n.decode(x), data.u, rtol=1e-5, atol=1e-5)


def test_statistics_do_not_depend_on_the_pieces_they_come_from():
    data = trajectories(37, static=True)
    n = Normaliser.fit(data)
    assert n.mean.item() == pytest.approx(data.u.double().mean().item(), abs=1e-7)
    assert n.std.item() == pytest.approx(data.u.double().std(correction=0).item(), rel=1e-6)
    torch.testing.assert_close(n.static_std[0, 0], data.static.double().std((0, 1, 2), correction=0).float())


def test_the_fields_of_a_steady_problem_are_normalised_each_for_itself():
    data = trajectories(20, frames=2, steady=True)
    data = replace(data, u=data.u * torch.tensor([1.0, 1e-4]).view(2, 1, 1, 1))
    n = Normaliser.fit(data)
    assert n.mean.shape == (2, 1, 1, 1)
    torch.testing.assert_close(n.encode(data.u).std((0, 2, 3, 4)), torch.tensor([0.5, 0.5]), rtol=1e-3, atol=0)
    torch.testing.assert_close(n.decode(n.encode(data.u)), data.u, rtol=1e-5, atol=1e-9)


def test_a_constant_channel_becomes_zero():
    data = replace(trajectories(4), u=torch.full((4, 3, 8, 8, 1), 7.0))
    assert Normaliser.fit(data).encode(data.u).abs().max() < 1e-5


def test_unseen_places_are_zero():
    data = replace(trajectories(4), u=trajectories(4).u + 9)
    mask = torch.rand(data.u.shape) < 0.3
    n = Normaliser.fit(data)
    y = n.encode_seen(data.u * mask, mask)
    assert (y[~mask] == 0).all()
    torch.testing.assert_close(y[mask], n.encode(data.u)[mask])


def test_a_large_set_is_sampled_evenly():
    data = trajectories(40)
    n = Normaliser.fit(data, at_most=5)
    assert n.mean.item() == pytest.approx(data.u[::8].mean().item(), abs=1e-6)


def test_the_state_brings_back_the_normaliser():
    n = Normaliser.fit(trajectories(5))
    again = Normaliser.restore(n.state())
    assert n.state().keys() == {"mean", "std", "static_mean", "static_std"}
    assert all(torch.equal(n.state()[k], again.state()[k]) for k in n.state())
    assert n.static_mean.shape == (1, 1, 0)
    assert n.to("cpu").mean.device.type == "cpu"


def test_an_empty_set_is_refused():
    with pytest.raises(ValueError, match="one trajectory or more, got none"):
        Normaliser.fit(trajectories(0))
