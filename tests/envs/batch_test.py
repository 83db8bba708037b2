import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from simple_tf.envs.batch import GameBatch, WorkerError
from simple_tf.envs.catalog import find_game
from simple_tf.envs.slot import FIRST, LAST, MID

ACTIONS = np.random.default_rng(0).integers(0, 6, (130, 5))


def _recorded(num_workers, seed=7):
    """Returns all columns of a `BatchStep`, each with a time axis in front."""
    with GameBatch(find_game("pong"), 5, seed, max_steps=40, num_workers=num_workers) as batch:
        history = []
        step = batch.reset()
        for actions in ACTIONS:
            history.append((step.observations.copy(), *step[1:]))
            step = batch.step(actions)
        history.append((step.observations.copy(), *step[1:]))
    return [np.stack(column) for column in zip(*history, strict=True)]


def test_workers_play_exactly_what_one_process_plays():
    for here, there in zip(_recorded(0), _recorded(2), strict=True):
        np.testing.assert_array_equal(here, there)


def test_the_seed_decides_and_slots_differ():
    observations = _recorded(0)[0]
    np.testing.assert_array_equal(observations, _recorded(0)[0])
    assert not np.array_equal(observations, _recorded(0, seed=8)[0])
    seeds = _recorded(0)[-1]
    assert len(np.unique(seeds)) > 5


def test_episodes_follow_each_other_first_mid_last():
    step_type = _recorded(0)[1]
    assert (step_type[0] == FIRST).all()
    for before, after in itertools.pairwise(step_type):
        assert ((after == FIRST) == (before == LAST)).all()
    assert {FIRST, MID, LAST} == set(np.unique(step_type))


def test_the_cap_truncates_and_is_not_a_game_over():
    observations, step_type, _, _, terminated, truncated, _ = _recorded(0)
    assert ((step_type == LAST) == (terminated | truncated)).all()
    assert not (terminated & truncated).any()
    lengths = np.diff(np.flatnonzero(step_type[:, 0] == FIRST)) - 1
    assert truncated.any()
    assert lengths.tolist() == [40, 40, 40]
    assert observations.shape == (131, 5, 4, 105, 80, 3)


def test_an_observation_is_the_last_four_frames():
    observations, step_type, *_ = _recorded(0)
    for t in range(1, len(observations)):
        running = step_type[t] != FIRST
        np.testing.assert_array_equal(
            observations[t, running, :-1], observations[t - 1, running, 1:]
        )
        for slot in np.flatnonzero(~running):
            assert (observations[t, slot] == observations[t, slot, :1]).all()


def test_an_episode_replays_from_its_seed_and_actions():
    observations, step_type, raw_reward, *_, episode_seed = _recorded(0)
    slot = 2
    start = np.flatnonzero(step_type[:, slot] == FIRST)[1]
    game = find_game("pong").make()
    game.reset(int(episode_seed[start, slot]))
    frame = np.zeros(game.frame_shape, np.uint8)
    for t in range(start, start + 30):
        game.write_frame(frame)
        np.testing.assert_array_equal(frame, observations[t, slot, -1])
        assert game.step(int(ACTIONS[t, slot])).raw_reward == raw_reward[t + 1, slot]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_inactive_slots_stay_as_they_are(num_workers):
    with GameBatch(find_game("pong"), 3, num_workers=num_workers) as batch:
        batch.reset()
        before = batch.step(np.array([2, 2, 2])).observations.copy()
        for _ in range(5):
            step = batch.step(np.array([3, 3, 3]), active=np.array([True, False, True]))
        np.testing.assert_array_equal(step.observations[1], before[1])
        assert not np.array_equal(step.observations[0], before[0])
        after = batch.step(np.array([2, 2, 2])).observations
        np.testing.assert_array_equal(after[1, :-1], before[1, 1:])


def test_send_and_receive_are_a_step():
    pong = find_game("pong")
    with GameBatch(pong, 2, num_workers=2) as one, GameBatch(pong, 2, num_workers=2) as other:
        one.reset()
        other.reset()
        for action in (2, 3, 4, 5):
            one.send(np.full(2, action))
            expected = other.step(np.full(2, action))
            np.testing.assert_array_equal(one.receive().observations, expected.observations)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 6], r"Actions of pong are 0 to 5, got \[0 6\]"),
        ([-1, 0], "Actions of pong are 0 to 5"),
        ([0], r"Expected 2 integer actions, got int64 of shape \(1,\)"),
        ([0.0, 1.0], "Expected 2 integer actions, got float64"),
    ],
)
def test_bad_actions_are_refused_and_nothing_is_played(actions, message):
    pong = find_game("pong")
    with GameBatch(pong, 2, num_workers=0) as batch, GameBatch(pong, 2, num_workers=0) as other:
        batch.reset()
        other.reset()
        with pytest.raises(ValueError, match=message):
            batch.step(np.array(actions))
        good = np.array([2, 3])
        np.testing.assert_array_equal(batch.step(good).observations, other.step(good).observations)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_step_that_was_not_received_is_not_forgotten(num_workers):
    with GameBatch(find_game("pong"), 2, num_workers=num_workers) as batch:
        batch.reset()
        with pytest.raises(RuntimeError, match="no step to receive"):
            batch.receive()
        batch.send(np.zeros(2, int))
        with pytest.raises(RuntimeError, match="has not been received"):
            batch.send(np.zeros(2, int))
        assert (batch.receive().step_type == MID).all()
        batch.send(np.zeros(2, int))
        # An interrupted step does not come back as the answer to what follows.
        assert (batch.reset().step_type == FIRST).all()
        assert (batch.step(np.zeros(2, int)).step_type == MID).all()


@pytest.mark.parametrize("bad", [{"num_slots": 0}, {"num_slots": 1.5}, {"stack": 0}])
def test_impossible_sizes_are_refused(bad):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        GameBatch(find_game("pong"), **bad)


def test_flags_for_another_number_of_slots_are_refused():
    with GameBatch(find_game("pong"), 2, num_workers=0) as batch:
        batch.reset()
        with pytest.raises(ValueError, match="Expected 2 flags"):
            batch.step(np.zeros(2, int), active=np.array([True]))


def test_stepping_before_reset_or_after_close_is_refused():
    batch = GameBatch(find_game("pong"))
    with pytest.raises(RuntimeError, match="reset"):
        batch.step(np.zeros(1, int))
    batch.close()
    with pytest.raises(RuntimeError, match="closed"):
        batch.reset()


def _step_often(batch):
    for _ in range(6):
        batch.step(np.zeros(2, int))


def test_a_failing_game_is_reported_with_its_own_words(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    with GameBatch(find_game("tiny_games:Failing-v0"), 2, num_workers=2) as batch:
        batch.reset()
        with pytest.raises(WorkerError, match="the cat sat on the joystick"):
            _step_often(batch)


def test_a_killed_worker_is_reported():
    with GameBatch(find_game("pong"), 2, num_workers=2) as batch:
        batch.reset()
        os.kill(batch._players[1]._process.pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="died with status -9"):
            _step_often(batch)


def test_workers_end_with_a_killed_parent():
    script = (
        "import numpy as np, time\n"
        "from simple_tf.envs.batch import GameBatch\n"
        "from simple_tf.envs.catalog import find_game\n"
        "batch = GameBatch(find_game('pong'), 2, num_workers=2)\n"
        "print(*[p._process.pid for p in batch._players], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while any(_is_running(pid) for pid in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)


def _is_running(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def test_workers_do_not_import_tensorflow():
    check = "import sys, simple_tf.envs.worker, simple_tf.envs.atari; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout
    assert "simple_tf.envs.worker" in printed.split()
    assert "tensorflow" not in printed.split()


def test_memory_stays_flat():
    def resident_kib():
        return (
            int(Path("/proc/self/statm").read_text().split()[1])
            * os.sysconf("SC_PAGE_SIZE")
            // 1024
        )

    with GameBatch(find_game("freeway"), 2, max_steps=50, num_workers=0) as batch:
        batch.reset()
        readings = []
        for _ in range(4):
            for _ in range(250):
                batch.step(np.ones(2, int))
            readings.append(resident_kib())
    assert readings[-1] - readings[0] < 1024
