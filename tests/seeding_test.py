import itertools

from simple_tf.seeding import derive_seed


def test_every_argument_matters():
    keys = [
        (seed, purpose, *counters)
        for seed, purpose in itertools.product((0, 1), ("a", "b"))
        for counters in ((), (0,), (0, 0), (1,), (0, 1), (1, 0))
    ]
    seeds = [derive_seed(*key) for key in keys]
    assert len(set(seeds)) == len(keys)
    assert seeds == [derive_seed(*key) for key in keys]
    assert all(0 <= seed < 2**63 for seed in seeds)
