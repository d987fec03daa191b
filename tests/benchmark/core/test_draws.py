import hashlib

import torch

from benchmark.core import keyed_generator


def test_a_key_fixes_the_stream():
    def draw(*key):
        return torch.rand(4, generator=keyed_generator(*key))

    assert torch.equal(draw("a", 0, "train", 1), draw("a", 0, "train", 1))
    others = [("a", 0, "train", 2), ("a", 0, "valid", 1), ("a", 1, "train", 1), ("b", 0, "train", 1)]
    assert all(not torch.equal(draw("a", 0, "train", 1), draw(*key)) for key in others)


def test_the_seed_is_the_first_63_bits_of_the_digest():
    digest = hashlib.sha256(b"navier_stokes/0/train/17").hexdigest()
    assert keyed_generator("navier_stokes", 0, "train", 17).initial_seed() == int(digest[:16], 16) >> 1
