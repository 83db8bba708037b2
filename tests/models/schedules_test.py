"""Schedules against values worked out by hand."""

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.models.schedules import (
    FallingSchedule,
    ScheduledSampling,
    WarmupSchedule,
    rising_exponentially,
    rising_linearly,
)


def at(function, step, *arguments):
    return float(function(tf.constant(step, tf.int64), *arguments))


def test_rises():
    assert at(rising_linearly, 0, 100) == pytest.approx(0.01)
    assert at(rising_linearly, 50, 100) == pytest.approx(0.505)
    assert at(rising_linearly, 200, 100) == 1.0
    assert at(rising_exponentially, 0, 100) == pytest.approx(0.01)
    assert at(rising_exponentially, 50, 100) == pytest.approx(0.1)
    assert at(rising_exponentially, 200, 100) == 1.0


@pytest.mark.parametrize(
    ("mode", "step", "expected"),
    [
        ("ground_truth", 50, 0.0),
        ("prediction", 0, 1.0),
        ("exponential", 20_000, 0.1),
        ("linear", 0, 1e-4),
        ("linear", 5_000, 0.1 * (0.125 * 0.99 + 0.01)),
        ("linear", 40_000, 1.0),
    ],
)
def test_scheduled_sampling(mode, step, expected):
    sampling = ScheduledSampling(mode, 40_000)
    assert at(sampling.probability, step) == pytest.approx(expected, rel=1e-4)


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="Unknown scheduled sampling mode 'often'"):
        ScheduledSampling("often")


def test_warmup_constant_and_decay():
    constant = WarmupSchedule(0.002, 2_000)
    assert [at(constant, s) for s in (0, 1_000, 9_000)] == pytest.approx([0.0, 0.001, 0.002])
    decay = WarmupSchedule(1.5, 8_000, rsqrt_decay=True, bump=3.0, bump_step=45_000)
    assert at(decay, 4_000) == pytest.approx(0.75 / np.sqrt(8_000))
    assert at(decay, 20_000) == pytest.approx(1.5 / np.sqrt(20_000))
    assert at(decay, 45_000) == pytest.approx(4.5 / np.sqrt(45_000))
    assert WarmupSchedule(**decay.get_config()).get_config() == decay.get_config()


def test_a_falling_rate_starts_anew_with_every_iteration():
    rate = FallingSchedule(0.002, last=0.1, steps=100, first_multiplier=3)
    steps = (0, 150, 299, 300, 350, 399, 400, 450)
    shares = [1.0, 0.55, 1 - 0.9 * 299 / 300, 1.0, 0.55, 1 - 0.9 * 0.99, 1.0, 0.55]
    assert [at(rate, step) for step in steps] == pytest.approx([0.002 * s for s in shares])
    assert FallingSchedule(**rate.get_config()).get_config() == rate.get_config()


def test_later_iterations_may_begin_with_smaller_steps():
    rate = FallingSchedule(0.002, last=0.1, steps=100, first_multiplier=3, later=0.5)
    shares = [1.0, 0.55, 0.5, 0.3, 0.5]
    rates = [at(rate, step) for step in (0, 150, 300, 350, 400)]
    assert rates == pytest.approx([0.002 * s for s in shares])
    assert FallingSchedule(**rate.get_config()).get_config() == rate.get_config()
    with pytest.raises(ValueError, match="last <= later"):
        FallingSchedule(0.002, last=0.1, steps=100, later=0.05)


def test_a_falling_rate_needs_steps():
    with pytest.raises(ValueError, match="at least 1 step"):
        FallingSchedule(0.002, steps=0)
