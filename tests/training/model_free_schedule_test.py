import pytest

from simple_tf.training.model_free_schedule import ModelFreeSchedule


def test_the_budget_is_cut_into_stretches_and_never_exceeded():
    schedule = ModelFreeSchedule(interactions=100, evaluate_every=30)
    assert schedule.iterations == 4
    assert [schedule.updates(i, 1) for i in (1, 2, 3, 4)] == [30, 30, 30, 10]
    # 16 at a time: after 1, 3, 5 and 6 of them.
    assert [schedule.updates(i, 16) for i in (1, 2, 3, 4)] == [1, 2, 2, 1]
    assert schedule.total_interactions == 100


def test_a_whole_number_may_be_written_with_an_exponent():
    schedule = ModelFreeSchedule(interactions=1e5, evaluate_every=10_000)
    assert (schedule.interactions, schedule.iterations) == (100_000, 10)
    assert isinstance(schedule.interactions, int)


def test_the_budget_is_named_as_users_know_it():
    with pytest.raises(ValueError, match=r"\(BUDGET\) must be a whole number of at least 1.*1\.5"):
        ModelFreeSchedule(1.5, 1)
    with pytest.raises(ValueError, match=r"\(BUDGET\) is 100, less than the 800 steps"):
        ModelFreeSchedule(100, 1).check(800)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "many", float("inf")])
def test_mistakes_are_named(bad):
    with pytest.raises(ValueError, match=r"ModelFreeSchedule\.evaluate_every"):
        ModelFreeSchedule(100, bad)
