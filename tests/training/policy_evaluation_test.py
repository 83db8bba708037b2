"""Whom to evaluate, how, and what comes of it."""

import json

import gin
import pytest

from simple_tf.evaluation.card import RANDOM, Card, read_card, write_card
from simple_tf.evaluation.protocol import EvaluationProtocol, protocol_grid
from simple_tf.training.gin_files import ConfigurationError
from simple_tf.training.policy_evaluation import table, task_of_game, task_of_run
from simple_tf.training.policy_files import save_policy
from simple_tf.training.run_directory import RunDescription, RunDirectory, RunError
from simple_tf.training.saved_run import SavedRun
from simple_tf.training.t2t_import import import_checkpoint

CONFIGURATION = """
AtariSettings.resize_factor = 5
AtariSettings.grayscale = True
build_policy.network = @PolicyNetwork
build_world_model.num_input_frames = 2
PolicyNetwork.filters = 2
PolicyNetwork.hidden_size = 3
"""
PROTOCOL = EvaluationProtocol(episodes=2, max_steps=5)


@pytest.fixture(autouse=True)
def _forget_configuration():
    yield
    gin.clear_config()


def evaluate(task, folder, *protocols):
    results = task.evaluate(protocols or [PROTOCOL], task.seed, folder, lambda: False)
    return [(name, evaluation.card()) for name, evaluation in results]


def score_card(game, iteration, score):
    return Card(
        game, {}, "policy", "", iteration, 0, 0.5, 9, 0, (score,), (1,), (False,), {}, "", 1.0
    )


@pytest.fixture
def run(tmp_path):
    """A run of four iterations with policies; the third one scored best in training."""
    directory = RunDirectory(tmp_path / "run")
    directory.claim(RunDescription("pong", 7, {}))
    directory.configuration.write_text(CONFIGURATION)
    saved = SavedRun(directory.path)
    network = saved.build_network()
    for iteration, score in enumerate((-20.0, -9.0, 3.0, 2.0), start=1):
        save_policy(directory.policy(iteration), network, iteration, 100 * iteration)
        write_card(
            directory.evaluation(f"iteration_{iteration:03d}"), score_card("pong", iteration, score)
        )
    return saved


def test_policies_of_a_run_by_name(run):
    assert run.choose("latest") == [4]
    assert run.choose("best") == [3]
    assert run.choose("all") == [1, 2, 3, 4]
    assert run.choose("2") == [2]
    for which in ("7", "first", "-1"):
        with pytest.raises(RunError, match="none of latest, best, all and the iterations 1, 2"):
            run.choose(which)


def test_a_run_without_policies_or_scores(run, tmp_path):
    for path in run.directory.evaluations.iterdir():
        path.unlink()
    with pytest.raises(RunError, match="no evaluation to choose the best by"):
        run.choose("best")
    empty = RunDirectory(tmp_path / "empty")
    empty.claim(RunDescription("pong", 7, {}))
    with pytest.raises(RunError, match="it has no config"):
        SavedRun(empty.path)
    empty.configuration.write_text(CONFIGURATION)
    gin.clear_config()
    with pytest.raises(RunError, match="has no policy yet"):
        SavedRun(empty.path).choose("latest")
    empty.evaluations.mkdir()
    empty.evaluation("final").write_text("{}")
    gin.clear_config()
    with pytest.raises(RunError, match="holds the records of a run without its policies"):
        SavedRun(empty.path).choose("latest")


def test_a_run_with_options_that_are_gone_names_its_commit(tmp_path):
    old = RunDirectory(tmp_path)
    old.claim(RunDescription("pong", 7, {}))
    old.configuration.write_text("PatchModel.codes = 16\n")
    _, fields = old.read()
    fields["starts"][0]["commit"] = "9be1c55aaaaaaaa"
    old.description.write_text(json.dumps(fields))
    with pytest.raises(ConfigurationError, match=r"'codes'.* made at commit 9be1c55, which has"):
        SavedRun(tmp_path)


def test_a_policy_is_played_as_its_run_was_configured(run, tmp_path):
    ((name, card),) = evaluate(task_of_run(run, "2"), tmp_path)
    assert name == "iteration_002"
    assert (card.iteration, card.interactions, card.seed) == (2, 200, 7)
    assert card.checkpoint == "policies/iteration_002"
    assert card.game_settings["resize_factor"] == 5
    (path,) = tmp_path.glob("*.json")
    assert path.stem == "evaluated_iteration_002_temperature_0.5_noops_2x5_seed_7"
    assert json.loads(path.read_text())["lengths"] == [5, 5]


def test_the_grid_and_its_table(run, tmp_path):
    protocols = protocol_grid(PROTOCOL, (0.0, 1.0), (True, False))
    results = evaluate(task_of_run(run, "1"), tmp_path, *protocols)
    assert len(list(tmp_path.glob("*.json"))) == len(results) == 4
    lines = table(results).splitlines()
    assert lines[0].split()[:4] == ["policy", "T", "no-ops", "episodes"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["iteration_001", "0", "up"],
        ["iteration_001", "1", "up"],
        ["iteration_001", "0", "none"],
        ["iteration_001", "1", "none"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_the_random_player_has_no_temperature(run, tmp_path):
    protocols = protocol_grid(PROTOCOL, (0.0, 1.0), (True,))
    ((name, card),) = evaluate(task_of_run(run, None), tmp_path, *protocols)
    assert (name, card.player, card.temperature) == ("random", RANDOM, None)


def test_the_random_player_of_any_game(tmp_path):
    ((_, card),) = evaluate(task_of_game("freeway", None), tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.stem == "evaluated_random_noops_2x5_seed_0"
    assert read_card(path).returns == card.returns
    assert (card.game, card.game_settings["noop_range"]) == ("freeway", (1, 8))


def test_an_imported_policy(tmp_path, original):
    arguments = {"observation_shape": (4, 105, 80, 3), "num_actions": 6}
    variables = original.variables("policy", **arguments, filters=2, hidden_size=3)
    imported = tmp_path / "imported"
    import_checkpoint(original.save(tmp_path / "t2t" / "model.ckpt-1", variables), imported)
    ((name, card),) = evaluate(task_of_game("pong", imported), tmp_path / "out")
    assert (name, card.checkpoint) == ("imported", str(imported))
    assert (card.iteration, card.interactions) == (None, None)
    with pytest.raises(ValueError, match="6 actions, but freeway has"):
        task_of_game("freeway", imported)
