import gin
import pytest

from simple_tf.training.evaluation_phase import FinalEvaluationPhase
from simple_tf.training.schedule import Schedule


@pytest.fixture(autouse=True)
def _clear_gin():
    gin.clear_config()
    yield
    gin.clear_config()


class Scorer:
    """Notes by which protocols it was asked to score."""

    def __init__(self):
        self.protocols = []

    def score(self, name, iteration, protocol):
        self.protocols.append((name, protocol.noops, protocol.temperature))
        raise _AskedError


class _AskedError(Exception):
    pass


@pytest.mark.parametrize("noops", [True, False])
def test_the_final_starts_are_those_of_the_final_protocol(noops):
    gin.bind_parameter("final/EvaluationProtocol.noops", noops)
    scorer = Scorer()
    schedule = Schedule(
        iterations=1,
        initial_interactions=10,
        interactions_per_iteration=10,
        max_interactions=20,
        world_model_steps=1,
        policy_updates=1,
    )
    phase = FinalEvaluationPhase(scorer, schedule, temperatures=(0.5, 1.0))
    for step in range(3):
        with pytest.raises(_AskedError):
            next(phase.run(1, step))
    assert scorer.protocols == [
        ("final", noops, 0.5),
        (f"final_temperature_1_{'noops' if noops else 'no_noops'}", noops, 1.0),
        ("random", noops, 0.5),
    ]
