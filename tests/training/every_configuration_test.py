"""Every shipped configuration runs from end to end, at toy size.

What is run is what is shipped, with smaller networks and fewer steps. TensorFlow's functions are
run eagerly: compiling two dozen configurations would take most of the time that all tests together
may. Compiled runs are in `train_binary_test.py`.
"""

import gin
import pytest
import tensorflow as tf

from simple_tf.evaluation.card import read_card
from simple_tf.training.configuration import configure
from simple_tf.training.experiment import Experiment
from simple_tf.training.gin_files import shipped_directory
from simple_tf.training.metrics import read_metrics
from simple_tf.training.program import LOOP, program_of

OTHERS = ("atari", "simple", "random_play", "model_free")
# Model-free ones are run by `model_free_test.py`.
NAMES = sorted(
    path.stem
    for path in shipped_directory().glob("*.gin")
    if path.stem not in OTHERS and program_of([path.name], []) == LOOP
)
_SMALL_NETWORK = {"hidden_size": 4, "compress_steps": 2, "doubling_steps": 1}
_MODELS = ("StochasticDiscreteModel", "DeterministicModel", "RecurrentModel", "GaussianModel")
TOY = [
    "AtariSettings.resize_factor = 8",  # 26x20
    *(f"{model}.{name} = {v}" for model in _MODELS for name, v in _SMALL_NETWORK.items()),
    "StochasticDiscreteModel.memory_channels = 2",
    "BitOptions.num_bits = 8",
    "BitOptions.predictor_units = 4",
    "BitOptions.posterior_filters = (4, 4)",
    "GaussianModel.posterior_filters = (4, 4)",
    "PolicyNetwork.filters = 2",
    "PolicyNetwork.hidden_size = 4",
    "Schedule.iterations = 1",
    "Schedule.initial_interactions = 300",
    "Schedule.interactions_per_iteration = 64",
    "Schedule.max_interactions = 364",
    "Schedule.world_model_steps = 1",
    "Schedule.policy_updates = 1",
    "Schedule.world_model_multipliers = {}",
    "Schedule.policy_multipliers = {}",
    "WorldModelPhase.batch_size = 2",
    "SimulatedEnvironment.batch_size = 2",
    "ROLLOUT_LENGTH = 6",
    "PPOLearner.minibatch_steps = 6",
    "EvaluationPhase.temperatures = (0.5,)",
    "FinalEvaluationPhase.temperatures = (0.5,)",
    "RealPlayPhase.num_agents = 2",
    "RealPlayPhase.steps_per_agent = 20",
    "WorldModelEvaluator.batch_size = 1",
    "WorldModelEvaluator.num_batches = 1",
    "WorldModelEvaluator.horizon = 2",
    "in_training/EvaluationProtocol.episodes = 1",
    "in_training/EvaluationProtocol.max_steps = 5",
    "final/EvaluationProtocol.episodes = 1",
    "final/EvaluationProtocol.max_steps = 5",
]


@pytest.fixture(autouse=True)
def _eager_and_clean():
    gin.clear_config()
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
    gin.clear_config()


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_from_end_to_end(name, tmp_path, capsys):
    configure([f"{name}.gin"], TOY)
    experiment = Experiment("pong", 0, tmp_path / "run")
    assert experiment.run() is None
    assert "Done: 364 interactions" in capsys.readouterr().out
    assert experiment.store.num_steps() == 364
    phases = {record["phase"] for record in read_metrics(experiment.directory)}
    assert {"collection", "world_model", "policy", "evaluation", "final_evaluation"} <= phases
    assert ("real_play" in phases) == (name == "sd_t2t")
    assert experiment.directory.policy_iterations() == [1]
    # Who learns from its own play, or is selected by it, needs it.
    own = name == "sd_t2t" or experiment.learners.kept is not None
    card = read_card(experiment.directory.evaluation("final"))
    assert card.interactions == (364 if own else 300)


def test_a_policy_that_is_brought_back_cannot_learn_from_another_s_play(tmp_path):
    configure(["sd_t2t.gin"], [*TOY, "build_learners.keep_best_policy = True"])
    with pytest.raises(ValueError, match=r"RealPlayPhase\.enabled and .* cannot both be True"):
        Experiment("pong", 0, tmp_path / "run").run()
