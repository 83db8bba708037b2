from simple_tf.evaluation.card import Card, write_card
from simple_tf.training import screen
from simple_tf.training.model_free_schedule import ModelFreeSchedule
from simple_tf.training.position import Position
from simple_tf.training.run_directory import RunDirectory
from simple_tf.training.schedule import Schedule

SCHEDULE = Schedule(
    iterations=15,
    initial_interactions=6400,
    interactions_per_iteration=6400,
    max_interactions=102_400,
    world_model_steps=15_000,
    policy_updates=1000,
)
RUN = RunDirectory("runs/mine")


def _card(player, returns, temperature):
    return Card(
        game="freeway",
        game_settings={},
        player=player,
        checkpoint=None,
        iteration=None,
        interactions=0,
        temperature=temperature,
        max_steps=None,
        seed=0,
        returns=returns,
        lengths=(1,) * len(returns),
        cut=(False,) * len(returns),
        versions={},
        created="",
        seconds=1.0,
    )


def test_the_opening_says_how_much_will_be_played():
    text = screen.opening(RUN, "pong", 3, SCHEDULE, Position())
    assert "15 iterations, 102,400 interactions" in text
    assert "going on" not in text
    assert "tensorboard --logdir=runs/mine/tensorboard" in text


def test_one_iteration_is_one_iteration():
    text = screen.opening(RUN, "pong", 3, ModelFreeSchedule(2000, 2000), Position())
    assert "1 iteration, 2,000 interactions with the real game.\n" in text


def test_a_run_that_starts_from_a_policy_says_what_is_counted_already():
    start = Position(iteration=1, phase="learning", interactions=51_200)
    text = screen.opening(RUN, "pong", 3, ModelFreeSchedule(2000, 1000), start)
    assert "the real game, after 51,200 that its first policy was trained with.\n" in text


def test_a_resumed_run_says_where_it_goes_on():
    position = Position(iteration=4, phase="world_model", step=10, seconds=3725.0)
    text = screen.opening(RUN, "pong", 3, SCHEDULE, position)
    assert "going on in iteration 4, world model, after 1:02:05 of work" in text


def test_who_is_stopped_learns_where_to_go_on():
    text = screen.interrupted("SIGINT", RUN, Position(iteration=4, phase="world_model"))
    assert "in iteration 4, world model. Everything is saved: the same command goes on" in text
    assert text.endswith("with --output_dir=runs/mine.")


def test_a_line_of_the_table_shows_the_main_score_and_what_is_missing():
    position = Position(iteration=2, interactions=19_200, seconds=61.0)
    position.summary = {
        "world_model/loss": 0.1234567,
        "world_model_evaluation/reward_accuracy_12": 0.75,
        "world_model_evaluation/reward_accuracy_50": 0.5,
        "evaluation/mean_score": -20.25,
        "evaluation/mean_score_temperature_1_no_noops": -21.0,
    }
    cells = screen.iteration(position, SCHEDULE).split()
    assert cells == ["2/15", "19,200", "0.1235", "0.5", "-", "-", "-20.25", "0:01:01"]


def test_late_scores_are_shown_with_their_own_iteration():
    position = Position(iteration=2, interactions=19_200, interactions_before=12_800, seconds=61.0)
    position.summary = {"policy/return": 0.25, "previous/evaluation/mean_score": -20.25}
    late, line = screen.iteration(position, SCHEDULE).splitlines()
    assert late.split() == ["1/15", "12,800", "-20.25", "(evaluated", "meanwhile)"]
    assert line.split() == ["2/15", "19,200", "-", "-", "0.25", "-", "-", "0:01:01"]
    title = screen.opening(RUN, "pong", 3, SCHEDULE, Position()).splitlines()[2]
    assert late.index("-20.25") + len("-20.25") == title.index("real score") + len("real score")


def test_the_closing_compares_with_random_and_with_the_paper(tmp_path):
    run = RunDirectory(tmp_path)
    write_card(run.evaluation("random"), _card("random", (0.0, 0.0), None))
    write_card(run.evaluation("final"), _card("policy", (20.0, 22.0), 0.5))
    text = screen.closing(run, "freeway", Position(interactions=102_400, seconds=3600.0))
    assert "102,400 interactions, 1:00:00 of work" in text
    assert "random player 0 ± 0 over 2 episodes\n" in text
    assert "this policy   21 ± 1.414 over 2 episodes, temperature 0.5" in text
    assert "paper's SD    20.3" in text


def test_a_game_that_the_paper_does_not_have(tmp_path):
    text = screen.closing(RunDirectory(tmp_path), "my_game:Game-v0", Position())
    assert "paper's SD" not in text
