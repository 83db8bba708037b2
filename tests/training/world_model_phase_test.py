import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.description import StoreDescription
from simple_tf.data.episode import EpisodeRecorder
from simple_tf.data.store import EpisodeStore
from simple_tf.models.deterministic import DeterministicModel
from simple_tf.models.heads import SoftmaxHead
from simple_tf.models.trainer import WorldModelTrainer
from simple_tf.training.schedule import Schedule
from simple_tf.training.world_model_phase import WorldModelPhase

SHAPE = (12, 10, 3)
SCHEDULE = Schedule(
    iterations=2,
    initial_interactions=40,
    interactions_per_iteration=40,
    max_interactions=80,
    world_model_steps=3,
    policy_updates=1,
)


class _OverflowingTrainer:
    """Notes what it is given; every step overflows, so that its optimiser counts none."""

    def __init__(self) -> None:
        self.model = DeterministicModel(SHAPE, 2, SoftmaxHead(3), hidden_size=4, compress_steps=1)
        self.global_step = tf.Variable(0)
        self.seen = []

    def check_batch_size(self, rows):
        del rows

    def train(self, batches, count):
        self.seen += [next(batches)["actions"].numpy().tolist() for _ in range(count)]
        return {}


def _store(directory):
    store = EpisodeStore.create_or_open(directory, StoreDescription("toy", SHAPE, ("A", "B")))
    random = np.random.RandomState(0)
    for iteration in (0, 1):
        recorder = EpisodeRecorder(iteration, 0, 0, np.zeros(SHAPE, np.uint8))
        for _ in range(40):
            recorder.add(random.randint(2), 0.0, 0, np.zeros(SHAPE, np.uint8))
        store.append(recorder.finish(True, False))
    return store


def test_steps_that_overflow_have_used_up_their_batch_also_after_a_resumption(tmp_path):
    store = _store(tmp_path)

    def run(*places):
        trainer = _OverflowingTrainer()
        phase = WorldModelPhase(trainer, store, SCHEDULE, num_target_frames=2, batch_size=2)
        for place in places:
            list(phase.run(*place))
        return trainer.seen

    whole = run((1, 0), (2, 0))
    assert len(whole) == 6
    assert run((1, 2)) == whole[2:3]
    assert run((2, 1)) == whole[4:]


def test_parts_and_shares_that_do_not_fit_are_refused_before_anything_is_played():
    model = DeterministicModel(
        SHAPE,
        4,
        SoftmaxHead(3),
        hidden_size=8,
        compress_steps=1,
        middle_layers=1,
    )
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(), parts=2)
    settings = {"store": None, "schedule": None, "num_target_frames": 1}
    WorldModelPhase(trainer, batch_size=4, **settings)
    with pytest.raises(ValueError, match=r"WorldModelTrainer\.parts is 2, but a batch of 3"):
        WorldModelPhase(trainer, batch_size=3, **settings)
    with pytest.raises(ValueError, match="add up to more than 1"):
        WorldModelPhase(trainer, batch_size=4, rewarded_share=0.6, surprising_share=0.6, **settings)


def test_a_share_of_the_windows_shows_what_is_surprising(tmp_path):
    store = EpisodeStore.create_or_open(tmp_path, StoreDescription("toy", SHAPE, ("A", "B")))
    recorder = EpisodeRecorder(0, 0, 0, np.zeros(SHAPE, np.uint8))
    for step in range(200):  # Once, something appears: the action tells when.
        recorder.add(int(step == 100), 0.0, 0, np.full(SHAPE, 200 * (step == 100), np.uint8))
    store.append(recorder.finish(True, False))

    def shares_with_it(**options):
        trainer = _OverflowingTrainer()
        phase = WorldModelPhase(
            trainer, store, SCHEDULE, num_target_frames=2, batch_size=4, **options
        )
        list(phase.run(1, 0))
        return [np.any(window) for batch in trainer.seen for window in batch]

    plain, favoured = (
        np.reshape(shares_with_it(**options), [-1, 4])
        for options in ({}, {"surprising_share": 0.5})
    )
    assert favoured[:, 2:].all()
    # Others may show it by chance, and are the same windows as without the option.
    assert not plain[:, 2:].all()
    np.testing.assert_array_equal(favoured[:, :2], plain[:, :2])
