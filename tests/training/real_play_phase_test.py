import numpy as np

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.training.real_play_phase import rows_of

SHAPE = (4, 3, 1)


def _episodes(directory):
    """An episode of 3 steps that is over, and one of 2 steps that was cut."""
    store = EpisodeStore.create_or_open(directory, StoreDescription("toy", SHAPE, ("A", "B")))
    for index, (steps, terminated) in enumerate([(3, True), (2, False)]):
        recorder = EpisodeRecorder(1, index, 0, np.zeros(SHAPE, np.uint8))
        for step in range(steps):
            recorder.add(step % 2, 5.0 * step, min(step, 1), np.full(SHAPE, step + 1, np.uint8))
        store.append(recorder.finish(terminated, not terminated))
    return store.episodes_of(1)


def test_rows_are_what_an_agent_would_have_seen(tmp_path):
    rows = rows_of(_episodes(tmp_path), num_input_frames=2)
    # Frames 0 to 3 are the first episode's, 4 to 6 the second's; its first frame stands in for
    # what was before an episode.
    assert rows.stacks.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3], [4, 4], [4, 5], [5, 6]]
    assert rows.actions.tolist() == [0, 1, 0, 0, 0, 1, 0]
    assert rows.rewards.tolist() == [0, 1, 1, 0, 0, 1, 0]
    # The row after an episode's last step does nothing; it only shows the last frame.
    assert rows.mask.tolist() == [1, 1, 1, 0, 1, 1, 0]
    assert rows.ends.tolist() == [False, False, True, False, False, True, False]
    # Over: worth nothing more. Cut: worth what its last frame is.
    assert rows.discounts.tolist() == [1, 1, 0, 1, 1, 1, 1]
