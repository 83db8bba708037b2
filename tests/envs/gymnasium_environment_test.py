import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

ENV_ID = "simple_tf.envs.gymnasium_environment:SimpleTF-v0"


def test_passes_gymnasium_s_own_check():
    check_env(gymnasium.make(ENV_ID, game="pong", render_mode="rgb_array").unwrapped)


def test_shows_the_last_four_frames_and_the_clipped_reward():
    env = gymnasium.make(ENV_ID, game="alien", max_steps=120)
    before, _ = env.reset(seed=1)
    assert before.shape == (4, 105, 80, 3)
    np.testing.assert_array_equal(before[0], before[3])
    rewards = set()
    truncated = False
    rng = np.random.default_rng(0)
    for _ in range(120):
        assert not truncated
        after, reward, terminated, truncated, info = env.step(rng.integers(env.action_space.n))
        np.testing.assert_array_equal(after[:3], before[1:])
        rewards.add((reward, info["raw_reward"]))
        before = after
    assert truncated
    assert not terminated
    assert (1.0, 10.0) in rewards
    assert env.render() is None
