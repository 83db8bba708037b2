"""Plays a game at random and stores every episode: the data that SimPLe starts from.

python -m simple_tf.collect --gin_file=random_play.gin --game=pong --output_dir=runs/pong
"""

from __future__ import annotations

from pathlib import Path

from absl import flags

from simple_tf.training import command_line
from simple_tf.training.configuration import configure
from simple_tf.training.random_play import collect_random_play

_GAME = flags.DEFINE_string(
    "game", "pong", "Atari game in snake_case, or a Gymnasium id (Id-v0 or module:Id-v0)."
)
_SEED = flags.DEFINE_integer("seed", 0, "Decides every random draw.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Where to write; the episodes go into its folder episodes/.", required=True
)
_GIN_FILE = flags.DEFINE_multi_string(
    "gin_file", ["random_play.gin"], "Paths, or names of files that ship with the package."
)
_GIN_BINDINGS = flags.DEFINE_multi_string(
    "gin_bindings", [], "Further bindings, e.g. collect_random_play.num_interactions=1000."
)


def main(_: list[str]) -> int:
    configure(_GIN_FILE.value, _GIN_BINDINGS.value)
    store_dir = Path(_OUTPUT_DIR.value) / "episodes"
    stopped_by = collect_random_play(_GAME.value, _SEED.value, store_dir)
    return command_line.exit_code(stopped_by)


if __name__ == "__main__":
    command_line.run(main)
