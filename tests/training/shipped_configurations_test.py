"""Every shipped configuration: parsed strictly, with the values of the paper and the original."""

import gin
import pytest

from simple_tf.agents.minibatches import num_minibatches
from simple_tf.agents.optimizers import decay_over_budget, decay_over_updates
from simple_tf.envs.catalog import find_game
from simple_tf.models.schedules import FallingSchedule
from simple_tf.training import experiment, model_free  # noqa: F401  # Known to gin once imported.
from simple_tf.training.configuration import configure
from simple_tf.training.gin_files import shipped_directory
from simple_tf.training.model_free_schedule import ModelFreeSchedule
from simple_tf.training.schedule import Schedule

# What each configuration changes. Sources: the paper (arXiv 1903.00374) and, where it says
# nothing, Tensor2Tensor 1.15.7; written down here independently of the gin files.
PAPER = {
    "Schedule.iterations": 15,
    "Schedule.initial_interactions": 6400,
    "Schedule.interactions_per_iteration": 6400,
    "Schedule.max_interactions": 102_400,
    "Schedule.world_model_steps": 15_000,
    "Schedule.policy_updates": 1000,
    "ROLLOUT_LENGTH/macro.value": 50,
    "SimulatedEnvironment.batch_size": 16,
    "SimulatedEnvironment.reward": "likeliest",
    "StartSampler.random_starts": True,
    "PPOLearner.discount": 0.99,
    "PPOLearner.gae_lambda": 0.95,
    "PPOLearner.clip": 0.1,
    "PPOLearner.value_coefficient": 1.0,
    "PPOLearner.entropy_coefficient": 0.01,
    "PPOLearner.clip_norm": 0.5,
    "PPOLearner.num_passes": 3,
    "PPOLearner.minibatch_steps": 20,
    "policy_adam.learning_rate": 1e-4,
    "policy_adam.beta_1": 0.85,
    "policy_adam.beta_2": 0.997,
    "policy_adam.epsilon": 1e-6,
    "CollectionPhase.num_slots": 1,
    "CollectionPhase.temperature": 1.0,
    "RealPlayPhase.enabled": False,
    "AtariSettings.frame_skip": 4,
    "AtariSettings.resize_factor": 2,
    "AtariSettings.grayscale": False,
    "AtariSettings.sticky_probability": 0.0,
    "WorldModelTrainer.clip_norm": 1.0,
    "in_training/EvaluationProtocol.episodes": 32,
    "in_training/EvaluationProtocol.max_steps": 1000,
    "final/EvaluationProtocol.episodes": 64,
    "final/EvaluationProtocol.max_steps": 50_000,
    "WorldModelEvaluator.batch_size": 16,
    "WorldModelEvaluator.num_batches": 8,
}
SD = PAPER | {
    "SoftmaxHead.clip": 0.03,
    "StochasticDiscreteModel.inputs": "stacked",
    "StochasticDiscreteModel.hidden_size": 96,
    "StochasticDiscreteModel.doubling_steps": 3,
    "StochasticDiscreteModel.dropout": 0.15,
    "BitOptions.num_bits": 128,
    "BitOptions.flip_probability": 0.1,
    "BitOptions.max_mixing": 0.5,
    "BitOptions.max_use": 0.8,
    "ScheduledSampling.mode": "linear",
    "ScheduledSampling.steps": 40_000,
    "WarmupSchedule.constant": 0.002,
    "WarmupSchedule.warmup_steps": 2000,
    "WorldModelPhase.num_target_frames": 6,
    "WorldModelPhase.batch_size": 4,
}
DETERMINISTIC = PAPER | {
    "SoftmaxHead.clip": 0.01,
    "DeterministicModel.hidden_size": 64,
    "DeterministicModel.doubling_steps": 2,
    "DeterministicModel.dropout": 0.1,
    "DeterministicModel.pixel_noise": 0.05,
    "WarmupSchedule.constant": 1.5,
    "WarmupSchedule.warmup_steps": 8000,
    "WarmupSchedule.rsqrt_decay": True,
    "WarmupSchedule.bump": 3.0,
    "WarmupSchedule.bump_step": 45_000,
    "WorldModelPhase.num_target_frames": 1,
    "WorldModelPhase.batch_size": 4,
}


def _interactions(each, total, **others):
    changed = {
        "Schedule.initial_interactions": each,
        "Schedule.interactions_per_iteration": each,
        "Schedule.max_interactions": total,
    }
    return SD | changed | {f"Schedule.{name}": value for name, value in others.items()}


EXPECTED = {
    "sd": SD,
    "sd_long": SD | {"Schedule.world_model_steps": 75_000},
    "sd_t2t": SD
    | {
        "StochasticDiscreteModel.inputs": "carried",
        "StochasticDiscreteModel.memory_channels": 64,
        "StochasticDiscreteModel.separate_target_actions": True,
        "RealPlayPhase.enabled": True,
        "RealPlayPhase.num_agents": 16,
        "RealPlayPhase.steps_per_agent": 200,
    },
    "deterministic": DETERMINISTIC,
    "recurrent": SD
    | {
        "RecurrentModel.hidden_size": 64,
        "RecurrentModel.doubling_steps": 2,
        "RecurrentModel.lstm_layers": 2,
        "WarmupSchedule.bump": 3.0,
        "WorldModelPhase.num_target_frames": 4,
    },
    "gaussian": DETERMINISTIC
    | {"GaussianModel.kl_weight": 1e-3, "WarmupSchedule.bump_step": 75_000},
    "sd_gamma90": SD | {"PPOLearner.discount": 0.9},
    "sd_gamma95": SD | {"PPOLearner.discount": 0.95},
    "sd_25_steps": SD | {"ROLLOUT_LENGTH/macro.value": 25},
    "sd_100_steps": SD | {"ROLLOUT_LENGTH/macro.value": 100},
    "sd_no_random_starts": SD
    | {"StartSampler.random_starts": False, "SimulatedEnvironment.rollout_length": 1000},
    "sd_sticky": SD | {"AtariSettings.sticky_probability": 0.25},
    "sd_l2": SD | {"L2Head.clip": 10.0},
    "sd_20k": _interactions(3200, 22_400, iterations=6, policy_updates=2000),
    "sd_50k": _interactions(3200, 51_200),
    "sd_200k": _interactions(12_800, 204_800),
    "sd_500k": _interactions(32_000, 512_000),
    "sd_1m": _interactions(64_000, 1_024_000),
    "sd_1_iteration": _interactions(96_000, 102_400, iterations=1, policy_updates=3000),
    "sd_3_iterations": _interactions(32_000, 102_400, iterations=3, policy_updates=2000),
    "sd_6_iterations": _interactions(16_000, 102_400, iterations=6, policy_updates=2000),
}
MODELS = {"deterministic": "DeterministicModel", "recurrent": "RecurrentModel"}
MODELS |= {"gaussian": "GaussianModel"}

# Configurations that are our own, and files that others include.
OURS = {"cpu", "cpu_drawn", "cpu_small", "smoke", "simple", "atari", "random_play", "model_free"}
OURS |= {"cpu_ppo", "cpu_rainbow"}

# Model-free learners. Sources: Tensor2Tensor's rlmf_base with ppo_original_params; OpenAI baselines
# (ppo2/defaults.py, ppo2.py, model.py); the paper's appendix and Dopamine (rainbow.gin); for van
# Hasselt et al. (2019) Kaixhin/Rainbow and Dopamine's DER.gin, see rainbow_der.gin.
PPO = {
    "RealEnvironment.num_slots": 16,
    "RealEnvironment.stack": 4,
    "PPOTrainer.collect_steps": 50,
    "policy_adam.learning_rate": 2.5e-4,
    "PPOLearner.discount": 0.99,
    "PPOLearner.gae_lambda": 0.95,
    "PPOLearner.clip": 0.1,
    "PPOLearner.value_coefficient": 1.0,
    "PPOLearner.entropy_coefficient": 0.01,
    "PPOLearner.clip_norm": 0.5,
    "PPOLearner.num_passes": 3,
    "PPOLearner.minibatch_steps": 20,
    "AtariSettings.resize_factor": 2,
    "AtariSettings.grayscale": False,
}
RAINBOW = {
    "RainbowInRealGame.stack": 4,
    "RainbowInRealGame.max_steps": 108_000 // 4,
    "RainbowInRealGame.num_steps": 3,
    "RainbowInRealGame.capacity": 1_000_000,
    "RainbowInRealGame.batch_size": 32,
    "RainbowInRealGame.prioritized": True,
    "RainbowTrainer.min_replay_history": 20_000,
    "RainbowTrainer.update_period": 4,
    "RainbowTrainer.target_update_period": 8000,
    "RainbowTrainer.final_epsilon": 0.01,
    "RainbowTrainer.epsilon_decay": 250_000,
    "RainbowTrainer.gamma": 0.99,
    "policy_adam.clip_norm": None,
    "RainbowTrainer.double": False,
    "RainbowNetwork.num_atoms": 51,
    "RainbowNetwork.max_return": 10.0,
    "RainbowNetwork.hidden_size": 512,
    "RainbowNetwork.dueling": False,
    "RainbowNetwork.evaluation_epsilon": 0.001,
    "policy_adam.learning_rate": 6.25e-5,
    "policy_adam.beta_1": 0.9,
    "policy_adam.beta_2": 0.999,
    "policy_adam.epsilon": 1.5e-4,
    "AtariSettings.frame_shape": (84, 84, 1),
    "RainbowNetwork.padding": "same",
}
MODEL_FREE = {
    "ppo": PPO,
    "ppo_baselines": PPO
    | {
        "RealEnvironment.num_slots": 8,
        "PPOTrainer.collect_steps": 128,
        "decay_over_budget.initial": 2.5e-4,
        "decay_over_budget.interactions_per_update": 8 * 128,
        "decay_over_budget.steps_per_update": 4 * 4,
        "policy_adam.beta_1": 0.9,
        "policy_adam.beta_2": 0.999,
        "policy_adam.epsilon": 1e-5,
        "PPOLearner.value_coefficient": 0.5 * 0.5,
        "PPOLearner.num_passes": 4,
        "PPOLearner.minibatch_steps": 128 // 4,
        "AtariSettings.frame_shape": (84, 84, 1),
    },
    "rainbow": RAINBOW,
    "rainbow_der": RAINBOW
    | {
        "RainbowInRealGame.num_steps": 20,
        "RainbowTrainer.min_replay_history": 1600,
        "RainbowTrainer.update_period": 1,
        "RainbowTrainer.target_update_period": 2000,
        "RainbowTrainer.epsilon_decay": 2000,
        "policy_adam.clip_norm": 10.0,
        "RainbowTrainer.double": True,
        "RainbowNetwork.dueling": True,
        "RainbowNetwork.hidden_size": 256,
        "RainbowNetwork.convolutions": ((32, 5, 5), (64, 5, 5)),
        "RainbowNetwork.padding": "valid",
        "policy_adam.learning_rate": 1e-4,
    },
}
del MODEL_FREE["ppo_baselines"]["policy_adam.learning_rate"]  # It falls.

# Iterations with more world-model steps and more policy updates than the others.
LONGER = {
    "sd": ({1: 3}, {8: 2, 12: 2, 15: 3}),
    "sd_t2t": ({1: 3, 2: 3, 5: 3, 10: 3, 15: 3}, {2: 2, 8: 2, 12: 2, 15: 3}),
    "gaussian": ({1: 5}, {8: 2, 12: 2, 15: 3}),
    "sd_20k": ({1: 3}, {3: 2, 6: 3}),
    "sd_3_iterations": ({1: 3}, {3: 3}),
    "sd_1_iteration": ({1: 3}, {1: 3}),
}


@pytest.fixture(autouse=True)
def _clear_gin():
    gin.clear_config()
    yield
    gin.clear_config()


def test_every_shipped_file_is_in_the_table():
    shipped = {path.stem for path in shipped_directory().glob("*.gin")}
    assert shipped - OURS == set(EXPECTED) | set(MODEL_FREE)


@pytest.mark.parametrize("name", MODEL_FREE)
def test_values_of_model_free_learners(name):
    configure([f"{name}.gin"], [])
    found = {binding: gin.query_parameter(binding) for binding in MODEL_FREE[name]}
    assert found == MODEL_FREE[name]
    assert ModelFreeSchedule() == ModelFreeSchedule(100_000, 10_000)


@pytest.mark.parametrize("name", MODEL_FREE)
def test_one_binding_decides_between_the_authors_frames_and_the_loop_s(name):
    for shape, expected in (((84, 84, 1), (84, 84, 1)), (None, (105, 80, 3))):
        gin.clear_config()
        configure([f"{name}.gin"], [f"AtariSettings.frame_shape = {shape}"])
        assert find_game("pong").make().frame_shape == expected


# What has to be the same, for a comparison of cpu.gin with model-free learners to mean anything.
SHARED_WITH_CPU = {
    "Schedule.max_interactions": "BUDGET/macro.value",
    "Schedule.interactions_per_iteration": "ModelFreeSchedule.evaluate_every",
    **{
        name: name
        for name in (
            *("AtariSettings.resize_factor", "AtariSettings.grayscale"),
            "AtariSettings.whole_blocks",
            *("AtariSettings.noop_range", "AtariSettings.sticky_probability"),
            *("in_training/EvaluationProtocol.episodes", "final/EvaluationProtocol.episodes"),
            *("in_training/EvaluationProtocol.max_steps", "final/EvaluationProtocol.max_steps"),
            "EvaluationPhase.noops",
        )
    },
}
SHARED_WITH_CPU_PPO = (
    *("EvaluationPhase.temperatures", "FinalEvaluationPhase.temperatures"),
    *("PolicyNetwork.filters", "PolicyNetwork.inputs", "PolicyNetwork.output_gain"),
    *("policy_adam.learning_rate", "policy_adam.beta_1", "policy_adam.beta_2"),
    *("PPOLearner.discount", "PPOLearner.advantage_epsilon", "PPOLearner.entropy_coefficient"),
    *("PPOLearner.clip", "PPOLearner.num_passes", "PPOLearner.gae_lambda"),
)


def test_the_cpu_preset_s_rate_falls_with_its_iterations():
    configure(["cpu.gin"], [])
    schedule, rate = Schedule(), FallingSchedule()
    first = schedule.world_model_steps_of(1)
    assert rate.steps * rate.first_multiplier == first
    assert rate.steps == schedule.world_model_steps_of(2)
    assert float(rate(first - 1)) < 0.06 * rate.initial == pytest.approx(0.06 * float(rate(first)))


@pytest.mark.parametrize("name", ["cpu_ppo", "cpu_rainbow"])
def test_what_is_compared_with_the_cpu_preset_has_its_game_budget_and_evaluation(name):
    shared = dict(SHARED_WITH_CPU)
    if name == "cpu_ppo":
        shared |= {each: each for each in SHARED_WITH_CPU_PPO}
    configure(["cpu.gin"], [])
    expected = {theirs: _bound(ours) for ours, theirs in shared.items()}
    examples = _minibatch("SimulatedEnvironment.batch_size")
    gin.clear_config()
    configure([f"{name}.gin"], [])
    assert {theirs: _bound(theirs) for theirs in expected} == expected
    assert find_game("pong").make().frame_shape == (52, 40, 1)
    if name == "cpu_ppo":
        assert _minibatch("RealEnvironment.num_slots") == examples


def _bound(name):
    """What is bound to a parameter; None where its default counts."""
    try:
        return gin.query_parameter(name)
    except ValueError:
        return None


def _minibatch(batch):
    return gin.query_parameter("PPOLearner.minibatch_steps") * gin.query_parameter(batch)


def test_the_policy_s_rate_falls_to_0_with_the_last_update():
    for bindings, updates in (([], 14 * 40), (["Schedule.iterations = 3"], 3 * 40)):
        configure(["cpu_drawn.gin"], bindings)
        steps = gin.query_parameter("%ROLLOUT_LENGTH")
        passes, size = (
            gin.query_parameter(f"PPOLearner.{each}") for each in ("num_passes", "minibatch_steps")
        )
        rate, last = decay_over_updates(), updates * num_minibatches(steps, passes, size)
        assert float(rate(0)) == pytest.approx(1e-3)
        assert 0.0 < float(rate(last - 1)) < 1e-5
        assert float(rate(last)) == 0.0
        gin.clear_config()


def test_one_binding_is_the_budget_and_the_learning_rate_ends_with_it():
    configure(["ppo_baselines.gin"], ["BUDGET = 500000"])
    assert ModelFreeSchedule().interactions == 500_000
    rate = decay_over_budget()
    steps = 500_000 // 1024 * 16
    assert float(rate(0)) == pytest.approx(2.5e-4)
    assert float(rate(steps // 2)) == pytest.approx(1.25e-4)
    assert float(rate(steps)) == 0.0


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_the_paper_s(name):
    configure([f"{name}.gin"], [])
    found = {binding: gin.query_parameter(binding) for binding in EXPECTED[name]}
    assert found == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_model_is_the_one_of_that_name(name):
    configure([f"{name}.gin"], [])
    model = gin.query_parameter("build_world_model.model")
    assert model.configurable.name == MODELS.get(name, "StochasticDiscreteModel")
    head = gin.query_parameter("build_world_model.head").configurable.name
    assert head == ("L2Head" if name == "sd_l2" else "SoftmaxHead")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_budget_is_used_up_and_never_exceeded(name):
    configure([f"{name}.gin"], [])
    schedule = Schedule()
    assert schedule.total_interactions == EXPECTED[name]["Schedule.max_interactions"]


@pytest.mark.parametrize("name", LONGER)
def test_longer_iterations(name):
    configure([f"{name}.gin"], [])
    schedule = Schedule()
    model_factors, policy_factors = LONGER[name]
    for iteration in range(1, schedule.iterations + 1):
        steps = model_factors.get(iteration, 1) * schedule.world_model_steps
        updates = policy_factors.get(iteration, 1) * schedule.policy_updates
        assert schedule.world_model_steps_of(iteration) == steps
        assert schedule.policy_updates_of(iteration) == updates


def test_one_macro_is_the_length_of_rollouts_updates_and_evaluations():
    configure(["sd_25_steps.gin"], [])
    text = gin.config_str()
    for binding in ("SimulatedEnvironment.rollout_length", "PPOTrainer.collect_steps"):
        assert f"{binding} = %ROLLOUT_LENGTH" in text
