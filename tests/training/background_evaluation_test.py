"""Evaluations beside the loop have to say what those in its way say, whatever happens.

In this process: a small game, real policies and files, but nothing is learned, weights drift;
TensorFlow's functions run eagerly. A whole program on Atari, really killed, is at the end.
"""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import gin
import pytest
import tensorflow as tf

sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120
import killed_runs

from simple_tf.envs.resumable_batch import FinishedEpisodes
from simple_tf.evaluation.card import read_card
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.training.background_work import BackgroundError
from simple_tf.training.checkpoints import latest_position
from simple_tf.training.configuration import configure
from simple_tf.training.metrics import read_metrics
from simple_tf.training.model_free import ModelFreeExperiment
from simple_tf.training.networks import build_policy
from simple_tf.training.policy_scorer import PolicyScorer
from simple_tf.training.run_directory import RunDirectory

TOY = [
    "ModelFreeExperiment.learner = @DriftingLearner",
    "PolicyNetwork.filters = 2",
    "PolicyNetwork.hidden_size = 4",
    "BUDGET = 120",
    "ModelFreeSchedule.evaluate_every = 40",
    "SimpleLoop.seconds_between_saves = 0.0",
    "in_training/EvaluationProtocol.episodes = 6",
    "in_training/EvaluationProtocol.max_steps = 12",
    "EvaluationPhase.temperatures = (0.5, 1.0)",
    "final/EvaluationProtocol.episodes = 1",
    "final/EvaluationProtocol.max_steps = 5",
    "FinalEvaluationPhase.temperatures = (0.5,)",
    "PolicyEvaluator.num_workers = 0",
    "FinalEvaluationPhase.videos = False",
]


@gin.configurable(module="background_evaluation_test")
class DriftingLearner:
    """See `ModelFreeLearner`: a policy that is another one after every update."""

    unit, stack, update_size = "updates", 4, 20

    def __init__(self, source, seed, folder):
        game = source.make()
        self.network = build_policy((4, *game.frame_shape), len(game.action_meanings), seed)
        self._updates = tf.Variable(0)

    def train(self, num_updates):
        self._updates.assign_add(num_updates)
        for number, variable in enumerate(self.network.trainable_variables):
            place = [number, self.updates_done()]
            variable.assign_add(0.1 * tf.random.stateless_normal(variable.shape, place))
        self._played = 20 * num_updates
        return {"loss": 1.0}

    def take_finished(self):
        return FinishedEpisodes([], self._played)

    def updates_done(self):
        return int(self._updates)

    def checkpoint(self):
        return tf.train.Checkpoint(network=self.network, updates=self._updates)

    def close(self):
        pass


@pytest.fixture(scope="module", autouse=True)
def _eager_and_clean():
    tf.config.run_functions_eagerly(True)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent.parent / "envs"))
        yield
    tf.config.run_functions_eagerly(False)
    gin.clear_config()


def _experiment(directory, *bindings, background=True):
    gin.clear_config()
    configure(["ppo.gin"], [*TOY, *bindings, f"EvaluationPhase.background = {background}"])
    return ModelFreeExperiment("tiny_games:Corridor-v0", 3, directory)


@pytest.fixture(scope="module")
def in_place(_eager_and_clean, tmp_path_factory):
    experiment = _experiment(tmp_path_factory.mktemp("in_place") / "run", background=False)
    assert experiment.run() is None
    return experiment.directory


@pytest.fixture(scope="module")
def beside(_eager_and_clean, tmp_path_factory):
    experiment = _experiment(tmp_path_factory.mktemp("beside") / "run")
    assert experiment.run() is None
    return experiment.directory


def _cards(run):
    cards = {path.stem: read_card(path) for path in run.evaluations.iterdir()}
    return {n: dataclasses.replace(card, created="", seconds=0.0) for n, card in cards.items()}


def _records(run, *fields):
    names = ("iteration", "phase", *fields, "interactions", "metrics")
    return [
        [record[name] for name in names]
        for record in read_metrics(run)
        if "evaluation" in record["phase"]
    ]


def _scalars(run):
    """Where TensorBoard shows which score."""
    found = set()
    for events in run.tensorboard.iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(events)):
            for value in event.summary.value:
                if value.tag.startswith("evaluation/mean_score"):
                    found.add((value.tag, event.step, float(tf.make_ndarray(value.tensor))))
                if value.tag.startswith("evaluation/scores"):
                    found.add((value.tag, event.step, tf.make_ndarray(value.tensor).tobytes()))
    return found


class _PowerCutError(Exception):
    """Nothing is saved on the way out."""


def _kill_at(directory, place, saved):
    """Runs until the state at some place is to be saved, or has been, and ends there."""
    experiment = _experiment(directory)
    save = experiment._checkpoints.save

    def save_or_die(position):
        here = (position["iteration"], position["phase"], position["step"]) == place
        if not here or saved:
            save(position)
        if here:
            raise _PowerCutError

    experiment._checkpoints.save = save_or_die
    with pytest.raises(_PowerCutError):
        experiment.run()


def _hold(monkeypatch, ready=lambda: None):
    """Makes evaluations beside the loop wait until they are cancelled."""

    def score_saved(self, name, iteration, protocol, should_stop):
        ready()
        while not should_stop():
            time.sleep(0.01)
        raise EvaluationStopped

    monkeypatch.setattr(PolicyScorer, "score_saved", score_saved)


def _check_equal(run, expected):
    assert _cards(run) == _cards(expected)
    assert _records(run, "step") == _records(expected, "step")


def test_scores_and_where_they_belong_are_those_of_an_evaluation_in_place(in_place, beside):
    cards = _cards(in_place)
    assert len(cards) == 3 * 2 + 2
    assert len({card.lengths for card in cards.values()}) > 5  # They can be told apart.
    assert _cards(beside) == _cards(in_place)
    assert _records(beside) == _records(in_place)
    assert [record[0] for record in _records(beside)] == [1, 1, 2, 2, 3, 3, 3, 3]
    assert _scalars(beside) == _scalars(in_place)
    assert len(_scalars(in_place)) == 3 * 2 * 2


def test_iterations_without_an_evaluation_have_none_beside_them_either(in_place, tmp_path):
    experiment = _experiment(tmp_path / "run", "EvaluationPhase.every = 2")
    assert experiment.run() is None
    # The last one is always evaluated.
    expected = {name: c for name, c in _cards(in_place).items() if "iteration_001" not in name}
    assert _cards(experiment.directory) == expected
    records = [record for record in _records(in_place) if record[0] > 1]
    assert _records(experiment.directory) == records


def test_the_next_iteration_goes_on_meanwhile(beside, tmp_path, monkeypatch):
    experiment, learned = _experiment(tmp_path / "run"), set()
    train, score_saved = experiment.learner.train, PolicyScorer.score_saved

    def learn(num_updates):
        learned.add(experiment._position.iteration)
        return train(num_updates)

    def score_while_learning(self, name, iteration, protocol, should_stop):
        while iteration + 1 not in learned:
            assert not should_stop()
            time.sleep(0.01)
        score_saved(self, name, iteration, protocol, should_stop)

    monkeypatch.setattr(PolicyScorer, "score_saved", score_while_learning)
    experiment.learner.train = learn
    assert experiment.run() is None
    _check_equal(experiment.directory, beside)


def test_killed_before_the_scores_are_there_it_evaluates_later(beside, tmp_path, monkeypatch):
    with monkeypatch.context() as held:
        _hold(held)
        _kill_at(tmp_path / "run", (2, "evaluation", 0), saved=True)
    run = RunDirectory(tmp_path / "run")
    assert run.policy_iterations() == [1]
    assert not run.evaluations.exists()
    assert _experiment(run.path).run() is None
    _check_equal(run, beside)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("place", [(2, "evaluation", 2), (2, "final_evaluation", 0)])
def test_killed_after_it_no_score_is_lost_or_counted_twice(beside, tmp_path, place, saved):
    _kill_at(tmp_path / "run", place, saved)
    experiment = _experiment(tmp_path / "run")
    assert experiment.run() is None
    _check_equal(experiment.directory, beside)


def test_cards_of_a_policy_that_is_made_again_do_not_count(beside, tmp_path):
    _kill_at(tmp_path / "run", (1, "evaluation", 1), saved=False)
    run = RunDirectory(tmp_path / "run")
    run.evaluations.mkdir(exist_ok=True)
    stale = beside.evaluation("iteration_002").read_text()
    run.evaluation("iteration_001").write_text(stale)
    assert _experiment(run.path).run() is None
    _check_equal(run, beside)


def test_an_error_ends_the_loop_where_it_can_go_on(beside, tmp_path, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("no room on the shelf.")

    experiment = _experiment(tmp_path / "run")
    with monkeypatch.context() as failing:
        failing.setattr(PolicyScorer, "score_saved", fail)
        message = "the evaluation of iteration 1 has failed with RuntimeError: no room on the shelf"
        with pytest.raises(BackgroundError, match=message):
            experiment.run()
    position = latest_position(experiment.directory.checkpoints)
    assert (position["iteration"], position["phase"]) in ((1, "final_evaluation"), (2, "learning"))
    again = _experiment(tmp_path / "run")
    assert again.run() is None
    _check_equal(again.directory, beside)


def test_whoever_waits_for_the_scores_can_be_stopped(beside, tmp_path, monkeypatch):
    experiment = _experiment(tmp_path / "run")

    def interrupt_while_waiting():
        while experiment._position.phase != "evaluation" or experiment._position.iteration != 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as held:
        _hold(held, interrupt_while_waiting)
        assert experiment.run() == "SIGINT"
    assert not [one for one in threading.enumerate() if one.name.startswith("background")]
    again = _experiment(tmp_path / "run")
    assert again.run() is None
    _check_equal(again.directory, beside)


SMALL = (
    "Schedule.iterations=2",
    "Schedule.initial_interactions=300",
    "Schedule.interactions_per_iteration=100",
    "Schedule.world_model_steps=30",
    "Schedule.policy_updates=6",
    "SimpleLoop.seconds_between_saves=0.5",
    "WorldModelEvaluationPhase.every=0",
    "FinalEvaluationPhase.videos=False",
    "in_training/EvaluationProtocol.episodes=8",
    "in_training/EvaluationProtocol.max_steps=500",
    "final/EvaluationProtocol.max_steps=20",
)


@pytest.mark.slow
def test_a_program_killed_while_it_evaluates_beside_the_loop_ends_the_same(tmp_path):
    in_place, run = (RunDirectory(tmp_path / name) for name in ("in_place", "run"))
    killed_runs.finish(in_place.path, *SMALL)
    command = killed_runs.command(run.path, *SMALL, "EvaluationPhase.background=True")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not killed_runs.place(run.path).startswith("2 "):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not run.evaluation("iteration_001").exists()
    killed_runs.finish(run.path, *SMALL, "EvaluationPhase.background=True")
    killed_runs.check_equal(run.path, in_place.path)
    assert _cards(run) == _cards(in_place)
    assert _records(run) == _records(in_place)
