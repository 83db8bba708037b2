"""The paper's baselines: PPO and Rainbow in the real game, from scratch or after SimPLe.

python -m simple_tf.train_model_free --gin_file=ppo.gin --game=pong --output_dir=runs/pong-ppo
"""

from __future__ import annotations

from pathlib import Path

from absl import flags

from simple_tf.reporting.writing import write_report
from simple_tf.training import command_line
from simple_tf.training.configuration import configure
from simple_tf.training.devices import STRATEGIES, choose_devices
from simple_tf.training.initial_policy import InitialPolicy
from simple_tf.training.model_free import ModelFreeExperiment, possible_strategies
from simple_tf.training.program import MODEL_FREE, check_program
from simple_tf.training.run_directory import RESUME

_GAME = flags.DEFINE_string(
    "game", "pong", "Atari game in snake_case, or a Gymnasium id (Id-v0 or module:Id-v0)."
)
_SEED = flags.DEFINE_integer("seed", 0, "Decides every random draw.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The run's directory.", required=True)
_RESUME = flags.DEFINE_enum(
    "resume",
    "auto",
    RESUME,
    "auto: go on with the run in --output_dir, if there is one; never: refuse to touch one.",
)
_INIT_FROM = flags.DEFINE_string(
    "init_from", None, "A run, of SimPLe for instance, whose latest policy is to learn on."
)
_STRATEGY = flags.DEFINE_enum(
    "strategy",
    "auto",
    STRATEGIES,
    "What to compute with: PPO with cpu, gpu or multi_gpu, Rainbow with cpu or gpu; a run may be "
    "resumed with another. auto: the most there is.",
)
_REPLICAS = flags.DEFINE_integer(
    "replicas",
    0,
    "How many GPUs (multi_gpu), or logical devices (cpu), share PPO's learning; 0: all, or 1.",
    lower_bound=0,
)
_GIN_FILE = flags.DEFINE_multi_string(
    "gin_file", ["ppo.gin"], "Paths, or names of files that ship with the package."
)
_GIN_BINDINGS = flags.DEFINE_multi_string(
    "gin_bindings", [], "Further bindings, e.g. BUDGET=500000."
)


def main(_: list[str]) -> int:
    initial = InitialPolicy.of_run(Path(_INIT_FROM.value)) if _INIT_FROM.value else None
    taken_over = initial.bindings if initial else ()
    check_program(MODEL_FREE, _GIN_FILE.value, _GIN_BINDINGS.value)
    configure(_GIN_FILE.value, [*taken_over, *_GIN_BINDINGS.value])
    devices = choose_devices(_STRATEGY.value, _REPLICAS.value, possible_strategies())
    experiment = ModelFreeExperiment(
        _GAME.value, _SEED.value, Path(_OUTPUT_DIR.value), _RESUME.value, initial, devices=devices
    )
    stopped_by = experiment.run()
    if stopped_by is None:
        directory = experiment.directory
        print(f"  report        {write_report([directory.path], directory.report)}")
    return command_line.exit_code(stopped_by)


if __name__ == "__main__":
    command_line.run(main)
