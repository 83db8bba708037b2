"""Model-free runs from end to end, at toy size; TensorFlow's functions run eagerly.

Compiled runs in processes of their own, really killed, are in `model_free_binary_test.py`.
"""

import json

import gin
import numpy as np
import pytest
import tensorflow as tf

from simple_tf.evaluation.card import read_card
from simple_tf.reporting.runs import find_runs
from simple_tf.training.configuration import configure
from simple_tf.training.initial_policy import InitialPolicy
from simple_tf.training.metrics import read_metrics
from simple_tf.training.model_free import ModelFreeExperiment
from simple_tf.training.policy_evaluation import task_of_run
from simple_tf.training.run_directory import RunError
from simple_tf.training.saved_run import SavedRun

TOY = [
    "AtariSettings.frame_shape = (16, 12, 3)",
    "RealEnvironment.num_slots = 2",
    "RealEnvironment.num_workers = 0",
    "RainbowInRealGame.num_workers = 0",
    "RainbowInRealGame.batch_size = 4",
    "RainbowTrainer.min_replay_history = 20",
    "PPOTrainer.collect_steps = 10",
    "PPOLearner.minibatch_steps = 10",
    "PolicyNetwork.filters = 2",
    "PolicyNetwork.hidden_size = 4",
    "NatureNetwork.convolutions = ((4, 4, 4),)",
    "NatureNetwork.hidden_size = 8",
    "RainbowNetwork.convolutions = ((4, 4, 4),)",
    "RainbowNetwork.hidden_size = 8",
    "BUDGET = 70",
    "ModelFreeSchedule.evaluate_every = 40",
    "SimpleLoop.seconds_between_saves = 0.0",
    "in_training/EvaluationProtocol.episodes = 1",
    "in_training/EvaluationProtocol.max_steps = 5",
    "final/EvaluationProtocol.episodes = 1",
    "final/EvaluationProtocol.max_steps = 5",
    "PolicyEvaluator.num_workers = 0",
    "FinalEvaluationPhase.videos = False",
]


@pytest.fixture(scope="module", autouse=True)
def _eager_and_clean():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
    gin.clear_config()


@pytest.fixture(scope="module")
def whole(_eager_and_clean, tmp_path_factory):
    """A run of PPO from its start to its end."""
    experiment = _experiment("ppo", tmp_path_factory.mktemp("ppo") / "run")
    assert experiment.run() is None
    return experiment


def _experiment(name, directory, *bindings, initial=None):
    gin.clear_config()
    taken_over = initial.bindings if initial else ()
    configure([f"{name}.gin"], [*taken_over, *TOY, *bindings])
    return ModelFreeExperiment("pong", 3, directory, initial_policy=initial)


class _KilledError(Exception):
    """Stands for a power cut: nothing is saved on the way out."""


def _kill_in_update(experiment, number):
    train, calls = experiment.learner.train, []

    def counting(num_updates):
        calls.append(num_updates)
        if len(calls) == number:
            raise _KilledError
        return train(num_updates)

    experiment.learner.train = counting
    with pytest.raises(_KilledError):
        experiment.run()


def _weights(experiment):
    return [variable.numpy() for variable in experiment.learner.network.variables]


def _check_end_to_end(experiment, interactions):
    run = experiment.directory
    assert run.policy_iterations() == [1, 2]
    cards = [read_card(run.evaluation(card)) for card in ("iteration_001", "final")]
    assert [card.interactions for card in cards] == [40, interactions]
    assert {card.epsilon for card in cards} == {0.001 if interactions == 70 else None}
    phases = {record["phase"] for record in read_metrics(run)}
    assert phases == {"learning", "evaluation", "final_evaluation", "iteration"}
    (found,) = find_runs([run.path])
    assert (found.status, found.iterations) == ("finished", (2, 2))
    assert found.learner == ("rainbow" if interactions == 70 else "ppo")
    _check_saved_policy(experiment, interactions)


def _check_saved_policy(experiment, interactions):
    gin.clear_config()
    run = SavedRun(experiment.directory.path)
    assert run.stack == 4
    with pytest.raises(RunError, match="has no world model"):
        run.learners()
    (contestant,) = task_of_run(run, "latest").contestants()
    assert contestant.origin.interactions == interactions
    for mine, expected in zip(contestant.network.variables, _weights(experiment), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_ppo_runs_from_end_to_end(whole):
    # Updates take 20 steps at a time, and never more than there are.
    _check_end_to_end(whole, 60)


@pytest.mark.parametrize(
    ("name", "interactions"),
    [("ppo_baselines", 60), ("cpu_ppo", 60), ("rainbow_der", 70), ("cpu_rainbow", 70)],
)
def test_other_configurations_do_too(name, interactions, tmp_path, capsys, request):
    if "rainbow" in name:
        request.getfixturevalue("reverb")
    experiment = _experiment(name, tmp_path / "run", "RainbowTrainer.min_replay_history = 45")
    before = _weights(experiment)
    assert experiment.run() is None
    assert f"Done: {interactions} interactions" in capsys.readouterr().out
    assert not all(map(np.array_equal, before, _weights(experiment)))
    _check_end_to_end(experiment, interactions)


def test_a_network_that_is_to_know_the_usual_image_looks_first(tmp_path):
    experiment = _experiment("ppo", tmp_path / "run", "PolicyNetwork.inputs = 'differences'")
    learner = experiment.learner
    before = [variable.numpy() for variable in learner.network.trainable_variables]
    assert learner.train(1) == {}
    for mine, first in zip(learner.network.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(mine, first)
    assert (learner.take_finished().interactions, learner.updates_done()) == (20, 1)
    usual = learner.network.normaliser.background.numpy()
    games = [group.games.step.observations[:, -1] for group in learner.environment.groups]
    assert np.mean(np.concatenate(games) == usual) > 0.8  # Most of Pong's screen never changes.
    assert "loss" in learner.train(1)
    learner.close()


def test_killed_ppo_ends_as_if_never_killed_to_the_bit(whole, tmp_path, capsys):
    # In the middle of the first stretch; at the beginning of the second.
    _kill_in_update(_experiment("ppo", tmp_path / "killed"), 2)
    _kill_in_update(_experiment("ppo", tmp_path / "killed"), 2)
    again = _experiment("ppo", tmp_path / "killed")
    again.run()
    assert "going on in iteration 2, learning" in capsys.readouterr().out
    for mine, expected in zip(_weights(again), _weights(whole), strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert _places(again) == _places(whole)


def _places(experiment):
    names = ("iteration", "phase", "step", "interactions")
    return [[record[name] for name in names] for record in read_metrics(experiment.directory)]


@pytest.mark.usefixtures("reverb")
def test_killed_rainbow_goes_on_with_its_replay_and_counts_nothing_twice(tmp_path, capsys):
    killed = _experiment("rainbow", tmp_path / "run")
    _kill_in_update(killed, 9)  # Pieces are of 1, 2, 4, … steps: in the second stretch.
    again = _experiment("rainbow", tmp_path / "run")
    train, played = again.learner.train, []

    def noting(num_updates):
        played.append((again.learner._replay.size, num_updates))
        return train(num_updates)

    again.learner.train = noting
    again.run()
    printed = capsys.readouterr().out
    assert "going on in iteration 2, learning" in printed
    assert "Done: 70 interactions" in printed
    assert played[0][0] >= 37  # All but the last three steps had become items.
    assert sum(number for _, number in played) <= 30
    assert int(again.learner._trainer.interactions) == 70
    assert int(again.learner._trainer.agent.train_step_counter) >= 10
    _check_end_to_end(again, 70)


def test_a_policy_of_another_run_learns_on_and_its_interactions_count(whole, tmp_path):
    initial = InitialPolicy.of_run(whole.directory.path)
    # What a policy sees, and what its network is, comes with it.
    assert "PolicyNetwork.filters = 2" in initial.bindings
    assert "AtariSettings.frame_shape = (16, 12, 3)" in initial.bindings
    assert "RealEnvironment.stack = 4" in initial.bindings
    assert initial.bindings[0] == "AtariSettings.frame_shape = None"  # What follows wins.
    second = _experiment("ppo", tmp_path / "second", "BUDGET = 20", initial=initial)
    for mine, expected in zip(_weights(second), _weights(whole), strict=True):
        np.testing.assert_array_equal(mine, expected)
    second.run()
    run = second.directory
    assert read_card(run.evaluation("iteration_001")).interactions == 60 + 20
    assert json.loads(run.description.read_text())["init_from"] == str(whole.directory.path)
    with pytest.raises(RunError, match="--init_from"):
        _experiment("ppo", tmp_path / "second", "BUDGET = 20")


def test_rainbow_learns_on_with_all_that_its_policy_is(tmp_path, reverb):
    options = ["RETURN = 3.0", "RainbowNetwork.max_return = %RETURN", "RainbowInRealGame.stack = 2"]
    first = _experiment("rainbow_der", tmp_path / "first", *options)
    assert first.run() is None
    initial = InitialPolicy.of_run(first.directory.path)
    assert {"RainbowNetwork.max_return = %RETURN", "RETURN = 3.0"} < set(initial.bindings)
    second = _experiment("rainbow_der", tmp_path / "second", initial=initial)
    assert second.learner.network.max_return == 3.0
    assert second.learner.stack == 2
    for mine, expected in zip(_weights(second), _weights(first), strict=True):
        np.testing.assert_array_equal(mine, expected)
    second.learner.close()


def test_what_cannot_be_started_from_is_refused(whole, tmp_path):
    with pytest.raises(RunError, match="There is no run"):
        InitialPolicy.of_run(tmp_path)
    initial = InitialPolicy.of_run(whole.directory.path)
    with pytest.raises(RunError, match=r"a run on pong, cannot .* does not fit the network"):
        _experiment("ppo", tmp_path / "other", "PolicyNetwork.filters = 7", initial=initial)
    with pytest.raises(ValueError, match=r"RainbowNetwork, not PolicyNetwork.*\(--init_from\)"):
        _experiment("rainbow", tmp_path / "other", initial=initial)
    with pytest.raises(ValueError, match="PPO cannot learn a RainbowNetwork"):
        _experiment("ppo", tmp_path / "other", "build_policy.network = @RainbowNetwork")
    assert not (tmp_path / "other").exists()
    (tmp_path / "run.json").write_text(whole.directory.description.read_text())
    with pytest.raises(RunError, match="no policy to start from"):
        InitialPolicy.of_run(tmp_path)


def test_a_budget_below_one_update_is_refused(tmp_path):
    with pytest.raises(ValueError, match="less than the 20 steps of one update"):
        _experiment("ppo", tmp_path / "run", "BUDGET = 19")
    assert not (tmp_path / "run").exists()
