"""Play a run's learned game in a browser, by hand or with its policy, beside the real game.

python -m simple_tf.play --run=runs/pong
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from absl import flags

from simple_tf.player.run_player import player_of_run
from simple_tf.player.server import AddressError, Server
from simple_tf.training import command_line
from simple_tf.training.interruption import Interruption
from simple_tf.training.saved_run import SavedRun

_RUN = flags.DEFINE_string("run", None, "A run's directory, finished or not.", required=True)
_HOST = flags.DEFINE_string(
    "host", "127.0.0.1", "Where to serve; 0.0.0.0 lets the whole network play."
)
_PORT = flags.DEFINE_integer("port", 8765, "0: any that is free.", 0, 65535)
_SEED = flags.DEFINE_integer("seed", None, "Default: the run's.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Where videos go; default: videos/ in the run's directory."
)
_GIN_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Bindings that win over the run's.")


def main(_: list[str]) -> int:
    run = SavedRun(Path(_RUN.value), _GIN_BINDINGS.value)
    seed = run.seed if _SEED.value is None else _SEED.value
    videos = Path(_OUTPUT_DIR.value) if _OUTPUT_DIR.value else run.directory.videos
    try:
        server = Server(_HOST.value, _PORT.value)
    except AddressError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print(f"Loading {run.directory.path} ...", flush=True)
    api = player_of_run(run, seed, videos)
    with Interruption() as interruption, server.running(api):
        print(f"Play {run.source.name} at {server.url} (Ctrl-C ends it).", flush=True)
        while not interruption.requested():
            time.sleep(0.1)
    return command_line.exit_code(interruption.signal_name)


if __name__ == "__main__":
    command_line.run(main)
