"""Evaluates policies, or the random player, on the real game; every score with its protocol.

python -m simple_tf.evaluate --run=runs/pong --which=all
python -m simple_tf.evaluate --policy=imported/policy --game=pong --temperatures=0.5,0,1
python -m simple_tf.evaluate --random --game=pong
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from absl import flags

from simple_tf.evaluation.card import describe
from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.evaluation.protocol import (
    FINAL,
    EvaluationProtocol,
    protocol_for,
    protocol_grid,
)
from simple_tf.training import command_line
from simple_tf.training.configuration import configure
from simple_tf.training.gin_files import ConfigurationError
from simple_tf.training.interruption import Interruption
from simple_tf.training.policy_evaluation import (
    EvaluationTask,
    table,
    task_of_game,
    task_of_run,
)
from simple_tf.training.saved_run import SavedRun

_RUN = flags.DEFINE_string("run", None, "A run's directory: evaluates its policies.")
_WHICH = flags.DEFINE_string(
    "which", "latest", "Of a run: latest, best (in training), all, or an iteration's number."
)
_POLICY = flags.DEFINE_string("policy", None, "A policy that simple_tf.import_t2t wrote.")
_RANDOM = flags.DEFINE_boolean("random", False, "Evaluates the random player.")
_GAME = flags.DEFINE_string("game", None, "The game, for --policy, and for --random without --run.")
_SEED = flags.DEFINE_integer("seed", None, "Default: the run's, or 0.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "For cards and videos; default: the run's directory, or evaluated/."
)
_EPISODES = flags.DEFINE_integer("episodes", None, "How many; default: the run's, or 64.")
_TEMPERATURES = flags.DEFINE_list("temperatures", None, "Default 0.5; the original's: 0.5,0,1.")
_NOOPS = flags.DEFINE_enum("noops", None, ["on", "off", "both"], "No-op starts; default on.")
_STICKY = flags.DEFINE_float("sticky_probability", None, "Default: as the game is configured.")
_MAX_STEPS = flags.DEFINE_integer("max_steps", None, "Cap on an episode; default 50,000.")
_VIDEO = flags.DEFINE_boolean("video", False, "Also writes videos: episodes, and a run's dream.")
_GIN_FILE = flags.DEFINE_multi_string(
    "gin_file", ["atari.gin"], "Without --run: how the game is presented."
)
_GIN_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Further bindings.")


def main(_: list[str]) -> int:
    task = _task()
    protocols = _protocols()
    folder = Path(_OUTPUT_DIR.value) if _OUTPUT_DIR.value else task.home
    seed = task.seed if _SEED.value is None else _SEED.value
    results = []
    with Interruption() as interruption:
        try:
            for name, evaluation in task.evaluate(
                protocols, seed, folder / "evaluations", interruption.requested
            ):
                results.append((name, evaluation))
                print(f"{describe(evaluation.card())}\n")
        except EvaluationStopped:
            print(f"Stopped by {interruption.signal_name}; an evaluation is all or nothing.")
            return command_line.exit_code(interruption.signal_name)
    if len(results) > 1:
        print(f"{table([(name, evaluation.card()) for name, evaluation in results])}\n")
    print(f"cards   {folder / 'evaluations'}")
    if _VIDEO.value:
        for path in task.write_videos(results, folder / "videos"):
            print(f"video   {path}")
        if reason := task.why_no_dream(results):
            print(f"no dream: {reason}")
    return 0


def _task() -> EvaluationTask:
    """Who is to be evaluated, on which game."""
    if bool(_RUN.value) + bool(_POLICY.value) + (_RANDOM.value and not _RUN.value) != 1:
        raise ConfigurationError("Say whom to evaluate: --run=DIR, --policy=DIR or --random.")
    if _RUN.value:
        run = SavedRun(Path(_RUN.value), _GIN_BINDINGS.value)
        return task_of_run(run, None if _RANDOM.value else _WHICH.value)
    if not _GAME.value:
        raise ConfigurationError("--game is missing: which game is to be played?")
    configure(_GIN_FILE.value, _GIN_BINDINGS.value)
    return task_of_game(_GAME.value, Path(_POLICY.value) if _POLICY.value else None)


def _protocols() -> list[EvaluationProtocol]:
    """The configured final protocol, with what the flags say instead."""
    protocol = protocol_for(FINAL)
    if _EPISODES.value is not None:
        protocol = dataclasses.replace(protocol, episodes=_EPISODES.value)
    if _MAX_STEPS.value is not None:
        protocol = dataclasses.replace(protocol, max_steps=_MAX_STEPS.value)
    if _STICKY.value is not None:
        protocol = dataclasses.replace(protocol, sticky_probability=_STICKY.value)
    temperatures = [protocol.temperature]
    if _TEMPERATURES.value:
        temperatures = [float(text) for text in _TEMPERATURES.value]
    starts = {"on": [True], "off": [False], "both": [True, False], None: [protocol.noops]}
    return protocol_grid(protocol, temperatures, starts[_NOOPS.value])


if __name__ == "__main__":
    command_line.run(main)
