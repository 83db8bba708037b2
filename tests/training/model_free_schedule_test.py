import pytest

from simple_tf.training.model_free_schedule import ModelFreeSchedule


def test_the_budget_is_cut_into_stretches_and_never_exceeded():
    schedule = ModelFreeSchedule(interactions=100, evaluate_every=30)
    assert schedule.iterations == 4
    assert [schedule.updates(i, 1) for i in (1, 2, 3, 4)] == [30, 30, 30, 10]
    # 16 at a time: after 1, 3, 5 and 6 of them.
    assert [schedule.updates(i, 16) for i in (1, 2, 3, 4)] == [1, 2, 2, 1]
    assert schedule.total_interactions == 100


@pytest.mark.parametrize("bad", [0, -1, 1.5, "many"])
def test_mistakes_are_named(bad):
    with pytest.raises(ValueError, match=r"ModelFreeSchedule\.evaluate_every"):
        ModelFreeSchedule(100, bad)
