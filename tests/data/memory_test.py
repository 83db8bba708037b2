"""Training on a large store takes no more memory than on a small one."""

import numpy as np

from simple_tf.data.starts import StartSampler
from tests.benchmark_modules import load_benchmark


def test_what_is_resident_does_not_grow_with_what_was_played(tmp_path):
    benchmark = load_benchmark("memory")
    peaks = {}
    for size in (4_000, 40_000):
        benchmark.make_store(tmp_path / str(size), size, (105, 80, 3), iteration_steps=2_000)
        measured = benchmark.measure_in_new_process(tmp_path / str(size))
        assert measured.pop("windows per second") > 0
        peaks[size] = measured
    assert peaks[4_000].keys() == peaks[40_000].keys()
    frames = 36_000 * 105 * 80 * 3 / 2**20
    assert frames > 800
    # Processes that do the same differ by up to 60 MB; one that keeps what it reads would by 865.
    last = "starts of the newest iteration"
    assert peaks[40_000][last] - peaks[4_000][last] < 0.2 * frames, peaks


def test_starts_stay_within_their_memory_and_keep_the_beginning_of_the_game(make_store):
    store = make_store([[300, 2_000]])
    gigabytes = 600 * 12 * 10 * 3 * 1.125 / 2**30
    sampler = StartSampler((12, 10, 3), 4, max_gigabytes=gigabytes)
    sampler.load(store)
    frames = sampler._frames.numpy()
    assert 400 < frames.shape[0] <= 600 * 1.125
    seeds = [np.array([seed, 0], np.int32) for seed in range(3)]
    drawn = np.concatenate([sampler.sample(200, seed)[0].numpy() for seed in seeds])
    episode, number = drawn[:, 0, 0, 0, 1], drawn[:, 0, 0, 0, 2]
    assert (episode[0], number[0]) == (0, 0)
    assert set(episode) == {0, 1}
    # A start is four frames in a row, as played.
    assert (np.diff(drawn[:, :, 0, 0, 2].astype(int), axis=1) % 256 == 1).all()
