"""Cards survive the disk, and say what they should."""

import dataclasses
import json

import numpy as np
import pytest

from simple_tf.evaluation.card import Card, CardError, Statistics, describe, read_card, write_card

CARD = Card(
    game="pong",
    game_settings={"emulator": "ale_py 0", "noop_range": [1, 8], "sticky_probability": 0.25},
    player="policy",
    checkpoint="policies/iteration_002",
    iteration=2,
    interactions=19200,
    temperature=0.5,
    max_steps=1000,
    seed=3,
    returns=(1.0, -2.0, 4.0, 4.0),
    lengths=(10, 20, 1000, 30),
    cut=(False, False, True, False),
    versions={"simple_tf": "1.2"},
    created="2030-01-01T00:00:00+00:00",
    seconds=1.5,
)


def test_statistics_as_numpy_computes_them():
    numbers = Statistics.of(CARD.returns)
    assert numbers == Statistics(1.75, np.std(CARD.returns, ddof=1), 2.5, -2.0, 4.0)
    assert Statistics.of([7.0]).std is None


def test_a_card_is_read_back(tmp_path):
    path = write_card(tmp_path / "evaluations" / "final.json", CARD)
    assert read_card(path) == CARD
    assert [file.name for file in path.parent.iterdir()] == ["final.json"]
    assert json.loads(path.read_text())["statistics"]["mean"] == 1.75


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", CARD.to_json()[:-20], CARD.to_json().replace("evaluation 1", "9")]
)
def test_a_damaged_card_is_an_error_that_names_the_file(tmp_path, text):
    path = tmp_path / "final.json"
    path.write_text(text)
    with pytest.raises(CardError, match=str(path)):
        read_card(path)


def test_a_card_without_its_episodes_is_refused():
    with pytest.raises(CardError, match="3, 4 and 4"):
        dataclasses.replace(CARD, returns=CARD.returns[:3])


def test_another_precision_is_named_and_cards_without_one_are_read():
    fast = dataclasses.replace(CARD, precision="bfloat16")
    assert "computed in bfloat16" in describe(fast)
    assert "computed in" not in describe(CARD)
    assert Card.from_json(fast.to_json()) == fast
    older = json.loads(CARD.to_json())
    del older["precision"]
    assert Card.from_json(json.dumps(older)) == CARD


def test_an_epsilon_greedy_policy_is_called_so_and_older_cards_are_read(tmp_path):
    rainbow = dataclasses.replace(CARD, temperature=1.0, epsilon=0.001)
    assert "epsilon-greedy with 0.001, sampled at temperature 1" in describe(rainbow)
    assert "epsilon" not in describe(dataclasses.replace(rainbow, temperature=0.0))
    older = json.loads(CARD.to_json())
    del older["epsilon"]
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert read_card(tmp_path / "older.json") == CARD


def test_the_screen_shows_every_choice():
    text = describe(CARD)
    for part in (
        "1.75 ± 2.872",
        "2.5, -2 to 4",
        "policies/iteration_002, sampled at temperature 0.5",
        "19,200",
        "4, 1 of them cut at the cap",
        "1,000 steps",
        "1 to 8 at the start",
        "with probability 0.25",
        "simple_tf 1.2",
    ):
        assert part in text
    greedy = describe(dataclasses.replace(CARD, temperature=0.0, game_settings={}))
    assert "iteration_002, greedy" in greedy
    assert "no-ops          none" in greedy
