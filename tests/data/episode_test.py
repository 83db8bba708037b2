"""The recorder builds what was played, and refuses what makes no sense."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from simple_tf.data.episode import EpisodeRecorder

FRAMES = np.random.default_rng(0).integers(0, 256, (4, 12, 10, 3), dtype=np.uint8)


def _recorder() -> EpisodeRecorder:
    recorder = EpisodeRecorder(iteration=2, index=5, seed=-7, first_frame=FRAMES[0])
    recorder.add(1, 0.0, 0, FRAMES[1])
    recorder.add(0, -20.0, -1, FRAMES[2])
    recorder.add(2, 4.5, 1, FRAMES[3])
    return recorder


def test_recorder_gives_back_what_was_played():
    episode = _recorder().finish(terminated=True, truncated=False)
    np.testing.assert_array_equal(episode.decode_frames(), FRAMES)
    np.testing.assert_array_equal(episode.actions, np.array([1, 0, 2], np.int32), strict=True)
    np.testing.assert_array_equal(
        episode.raw_rewards, np.array([0, -20, 4.5], np.float32), strict=True
    )
    np.testing.assert_array_equal(episode.rewards, np.array([0, -1, 1], np.int8), strict=True)
    assert (episode.key, episode.seed) == ((2, 5), -7)
    assert (episode.num_steps, episode.num_frames, episode.raw_return) == (3, 4, -15.5)


def test_frames_are_copied_when_they_are_added():
    frame = FRAMES[0].copy()
    recorder = EpisodeRecorder(0, 0, 0, frame)
    frame[:] = 0  # Environments reuse their buffers.
    recorder.add(0, 0.0, 0, frame)
    episode = recorder.finish(terminated=False, truncated=True)
    np.testing.assert_array_equal(episode.decode_frames()[0], FRAMES[0])


def test_an_episode_cannot_be_changed():
    episode = _recorder().finish(terminated=True, truncated=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        episode.seed = 3
    with pytest.raises(ValueError, match="read-only"):
        episode.actions[0] = 1


def test_a_frame_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"step 3 led to one of shape \[12, 9, 3\]"):
        _recorder().add(0, 0.0, 0, FRAMES[0][:, :9])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("actions", np.array([0, 1]), "got 2, 3 and 3"),
        ("actions", np.array([0, 1, -1]), "must not be negative"),
        ("actions", np.array([0, 1, 2**40]), "not int32 integers"),
        ("actions", np.array([0, 1, 0.5]), "not int32 integers"),
        ("actions", np.array([[0], [1], [2]]), "must be a vector"),
        ("rewards", np.array([0, 5, 1]), "must be -1, 0 or 1"),
        ("rewards", np.array([0, 257, 1]), "not int8 integers"),
        ("raw_rewards", np.array([0, np.nan, 1]), "must be finite"),
        ("terminated", False, "must be terminated or truncated"),
        ("iteration", -1, "must not be negative"),
        ("seed", 2**63, "fit in 64 bits"),
        ("png_frames", (), "has 4 frames, not 0"),
    ],
)
def test_contradictions_are_refused(field, value, message):
    episode = _recorder().finish(terminated=True, truncated=False)
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(episode, **{field: value})


def test_an_episode_without_steps_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        EpisodeRecorder(0, 0, 0, FRAMES[0]).finish(terminated=False, truncated=True)


def test_recording_needs_no_tensorflow():
    """A process that only plays must not have to import it, which takes seconds."""
    program = "import sys, simple_tf.data.episode; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
