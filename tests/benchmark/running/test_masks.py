import torch

from benchmark.running import masks


def draw(*key):
    return torch.randperm(1000, generator=masks.mask_generator(*key)).tolist()


def test_a_generator_is_a_pure_function_of_its_key():
    assert masks.mask_generator("navier_stokes", "cont_1", 3, 0).initial_seed() == 6910730219868638269
    assert draw("navier_stokes", "cont_1", 3, 0) == draw("navier_stokes", "cont_1", 3, 0)


def test_every_part_of_the_key_counts():
    keys = [
        ("a", "t", 3, 0),
        ("b", "t", 3, 0),
        ("a", "s", 3, 0),
        ("a", "t", 4, 0),
        ("a", "t", 3, 1),
        ("a", "t", 3, 0, 1),
    ]
    assert len({masks.mask_generator(*k).initial_seed() for k in keys}) == len(keys)


def test_several_masks_a_trajectory_come_trajectory_by_trajectory():
    seeds = [g.initial_seed() for g in masks.mask_generators("a", "t", [5, 6], 7, masks=2)]
    expected = [masks.mask_generator("a", "t", i, 7, r).initial_seed() for i in (5, 6) for r in (0, 1)]
    assert seeds == expected
    assert masks.mask_generators("a", "t", [5], 7)[0].initial_seed() == expected[0]
