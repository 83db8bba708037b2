import pytest

from simple_tf.training.schedule import Schedule

NUMBERS = {
    "iterations": 4,
    "initial_interactions": 100,
    "interactions_per_iteration": 30,
    "max_interactions": 1000,
    "world_model_steps": 7,
    "policy_updates": 5,
}


def test_collections_are_cut_to_the_budget():
    schedule = Schedule(**NUMBERS | {"max_interactions": 175})
    assert [schedule.interactions(i) for i in range(5)] == [100, 30, 30, 15, 0]
    assert schedule.total_interactions == 175
    assert [schedule.last_played(i) for i in range(5)] == [0, 1, 2, 3, 3]


def test_a_budget_that_is_not_reached():
    assert Schedule(**NUMBERS).total_interactions == 220


def test_whole_numbers_may_be_written_with_an_exponent():
    schedule = Schedule(**NUMBERS | {"max_interactions": 1e3})
    assert schedule == Schedule(**NUMBERS)
    assert isinstance(schedule.max_interactions, int)


def test_multipliers_from_the_front_and_from_the_back():
    schedule = Schedule(
        **NUMBERS, world_model_multipliers={1: 3, 2: 2}, policy_multipliers={-1: 3, -3: 2}
    )
    assert [schedule.world_model_steps_of(i) for i in range(1, 5)] == [21, 14, 7, 7]
    assert [schedule.policy_updates_of(i) for i in range(1, 5)] == [5, 10, 5, 15]


def test_where_two_multipliers_meet_the_larger_counts():
    schedule = Schedule(**NUMBERS | {"iterations": 1}, policy_multipliers={1: 2, -1: 3})
    assert schedule.policy_updates_of(1) == 15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 0}, "iterations"),
        ({"policy_updates": 1.5}, "policy_updates"),
        ({"interactions_per_iteration": -1}, "interactions_per_iteration"),
        ({"initial_interactions": 1001}, "more than the budget"),
        ({"policy_multipliers": {0: 2}}, "Multipliers"),
    ],
)
def test_bad_numbers_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**NUMBERS | change)
