"""The paper's table, as it is shipped."""

from simple_tf.envs.atari import PAPER_GAMES
from simple_tf.evaluation.paper_scores import (
    BASELINES,
    COLUMNS,
    CONFIGURATIONS,
    HUMAN,
    RANDOM,
    SD_LONG,
    PaperScore,
    load_paper_scores,
)


def test_cells_are_those_of_the_paper():
    scores = load_paper_scores()
    assert scores.find("pong", SD_LONG) == PaperScore(12.8, 17.2, 20.7, 21.0)
    assert scores.find("freeway", BASELINES["PPO 500K"]) == PaperScore(14.0, 11.5)
    assert scores.mean("alien", RANDOM) == 184.8
    assert scores.mean("alien", HUMAN) == 7128.0


def test_every_game_of_the_paper_has_every_column_that_the_paper_has():
    scores = load_paper_scores()
    assert scores.games == sorted(PAPER_GAMES)
    missing = {
        (game, title)
        for game in scores.games
        for title, method in {**COLUMNS, **CONFIGURATIONS}.items()
        if scores.find(game, method) is None
    }
    assert missing == {("frostbite", "human"), ("atlantis", "PPO 1M")}


def test_what_the_paper_does_not_have():
    assert load_paper_scores().find("tennis", SD_LONG) is None
    assert load_paper_scores().mean("frostbite", HUMAN) is None
