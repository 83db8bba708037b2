"""Dreams of the benchmark are true, and start where the configuration says."""

import gin
import numpy as np
import pytest
from benchmark_modules import load_benchmark

from simple_tf.envs.catalog import find_game

ACTIONS = np.random.default_rng(0).integers(0, 6, 40)


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("perfect_dreams")


@pytest.fixture(autouse=True)
def _no_bindings():
    yield
    gin.clear_config()


class _Seat:
    """A game of three steps that pays for the last one."""

    observation = np.zeros((4, 3, 2, 1), np.uint8)

    def go_to(self, moment):
        self.left, self.over = moment, False

    def step(self, action):
        self.left -= 1
        self.over = self.left <= 0
        return int(self.left == 0)


class _Policy:
    """Chooses the first action, and expects 5 wherever it is."""

    def act(self, seats):
        observations = np.stack([seat.observation for seat in seats])
        size = len(seats)
        return observations, np.zeros(size, int), np.zeros(size), np.full(size, 5.0)


def test_nothing_is_learned_from_what_follows_the_end_of_a_game(benchmark):
    experience = benchmark.dream(_Policy(), [_Seat(), _Seat()], [3, 9], length=5)
    np.testing.assert_array_equal(experience.rewards[:, 0], [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(experience.mask[:, 0], [1, 1, 1, 0, 0])
    np.testing.assert_array_equal(experience.discounts[:3, 0], [1, 1, 0])
    np.testing.assert_array_equal(experience.ends[:3, 0], [False, False, True])
    # The other one is cut off, which is not its end.
    np.testing.assert_array_equal(experience.mask[:, 1], np.ones(5))
    np.testing.assert_array_equal(experience.discounts[:, 1], np.ones(5))
    np.testing.assert_array_equal(experience.ends[:, 1], [False] * 4 + [True])
    assert experience.values.shape == (6, 2)


def test_what_follows_a_moment_is_what_followed_it_in_the_game(benchmark):
    source = find_game("pong")
    player, dreamer = benchmark.Seat(source.make()), benchmark.Seat(source.make())
    player.start(3)
    for action in ACTIONS[:25]:
        player.step(action)
    moment = player.moment()
    real = [(player.step(action), player.observation.copy()) for action in ACTIONS]
    for _ in range(2):  # A moment can be gone on from again.
        dreamer.go_to(moment)
        for action, (reward, observation) in zip(ACTIONS, real, strict=True):
            assert dreamer.step(action) == reward
            np.testing.assert_array_equal(dreamer.observation, observation)
    assert any((observation != moment.observation).any() for _, observation in real)


@pytest.mark.parametrize(("balanced", "share"), [(True, 0.5), (False, 0.1)])
def test_half_of_the_rollouts_start_before_rewards(benchmark, balanced, share):
    gin.bind_parameter("StartSampler.rewarded_share", 0.5)
    gin.bind_parameter("StartSampler.lead", 3)
    gin.bind_parameter("StartSampler.balanced", balanced)
    moments = benchmark.Moments(seed=0)
    for number in range(1000):
        moments.add(number)
    moments.add_reward(1, range(95, 101))  # One gain, after moment 100, and nine losses after 200.
    for _ in range(9):
        moments.add_reward(-1, range(195, 201))
    drawn = moments.draw(4000)
    gains, losses = (
        sum(number in range(end - 2, end + 1) for number in drawn[2000:]) for end in (100, 200)
    )
    assert gains + losses == 2000
    assert gains / 2000 == pytest.approx(share, abs=0.03)
    assert max(drawn[:2000]) > 900
