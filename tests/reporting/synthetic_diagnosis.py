"""A diagnosis with chosen numbers: rewards are found at sight and get lost in dreams."""

from simple_tf.evaluation.diagnosis import (
    BootstrapValue,
    Entropy,
    Mean,
    Measurements,
    Returns,
    RewardClass,
)
from simple_tf.evaluation.motion_quality import MotionQuality
from simple_tf.evaluation.novelty import Novelty
from simple_tf.evaluation.reward_quality import ReliabilityBin, RewardCounts
from simple_tf.training.diagnosis_file import DiagnosisSize, RunDiagnosis


def make_diagnosis(game="pong", seed=0, found_in_dreams=2.0):
    """A diagnosis of 40 segments of 10 steps."""
    return RunDiagnosis(
        game=game,
        seed=seed,
        iteration=3,
        scores=(-20.0, -18.0),
        size=DiagnosisSize(episodes=2, segments=40, horizon=10),
        measured=make_measurements(found_in_dreams),
        created="2030-01-02T03:04:05+00:00",
        versions={"simple_tf": "0.1"},
    )


def make_measurements(found_in_dreams):
    """The numbers of it."""
    return Measurements(
        num_segments=40,
        horizon=10,
        rewards_in_data={-1: 90, 1: 10},
        steps_in_data=6400,
        reward_kind="expected",
        rewards_met=40,
        returns=_returns(),
        rewards=(_reward(-1, found_in_dreams), _reward(1, found_in_dreams)),
        motion=MotionQuality((0.9,) * 9 + (None,), (1.0,) * 9 + (0.8,)),
        entropy=Entropy(1.79, (1.0,) * 11, (1.1,) * 11),
        value=BootstrapValue(
            30,
            Mean(0.5, 0.1, 1.0),
            Mean(0.4, 0.1, 1.0),
            Mean(0.1, 0.1, 1.0),
            Mean(0.0, 0.0, 0.0),
            ((0.1, 0.2), (0.5, 0.4), (0.9, 0.7)),
        ),
        novelty=Novelty(2.0, 0.125, (0.0, 1.0, 4.0), (0.0, 0.8, 2.5)),
    )


def _returns():
    curve = tuple(-0.1 * step for step in range(1, 11))
    return Returns(
        Mean(-1.0, 0.1, 0.7),
        Mean(-0.9, 0.1, 0.7),
        Mean(-0.8, 0.1, 0.7),
        Mean(0.1, 0.1, 0.7),
        Mean(0.2, 0.1, 0.7),
        {"real": curve, "followed": curve, "acted": curve},
    )


def _reward(reward, found):
    dreamed = RewardCounts(20.0, 20.0, found, found)
    return RewardClass(
        reward=reward,
        at_sight=RewardCounts(20.0, 20.0, 19.0, 19.0),
        dreamed=dreamed,
        by_depth=((1, 1, RewardCounts(0.0, 0.0, 0.0, 0.0)), (2, 10, dreamed)),
        bins=(ReliabilityBin(0.01, 0.02, 300), ReliabilityBin(0.8, 0.5, 100)),
    )
