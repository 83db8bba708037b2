"""What limits this run? Plays the real game with its policy and compares with its dreams.

python -m simple_tf.diagnose --run=runs/pong
"""

from __future__ import annotations

from pathlib import Path

from absl import flags

from simple_tf.evaluation.episodes import EvaluationStopped
from simple_tf.reporting.diagnosis_page import NUMBERS, to_text, write_diagnosis_page
from simple_tf.reporting.writing import PAGE, write_report
from simple_tf.training import command_line
from simple_tf.training.diagnosis_file import DiagnosisSize
from simple_tf.training.interruption import Interruption
from simple_tf.training.run_diagnosis import diagnose_run
from simple_tf.training.saved_run import SavedRun

_RUN = flags.DEFINE_string("run", None, "A run's directory, finished or not.", required=True)
_EPISODES = flags.DEFINE_integer("episodes", 8, "Real episodes to play.")
_MAX_STEPS = flags.DEFINE_integer("max_steps", 1000, "Each is cut after so many steps.")
_SEGMENTS = flags.DEFINE_integer("segments", 128, "Segments of them to compare with dreams.")
_HORIZON = flags.DEFINE_integer(
    "horizon", None, "Steps of a segment; default: the run's rollout length."
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "Dreams side by side.")
_SEED = flags.DEFINE_integer("seed", None, "Default: the run's.", lower_bound=0)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Where to write; default: diagnosis/ in the run's directory."
)
_GIN_BINDINGS = flags.DEFINE_multi_string("gin_bindings", [], "Bindings that win over the run's.")


def main(_: list[str]) -> int:
    run = SavedRun(Path(_RUN.value), _GIN_BINDINGS.value)
    size = DiagnosisSize(
        _EPISODES.value, _MAX_STEPS.value, _SEGMENTS.value, _HORIZON.value, _BATCH_SIZE.value
    )
    seed = run.seed if _SEED.value is None else _SEED.value
    with Interruption() as interruption:
        try:
            found = diagnose_run(run, size, seed, interruption.requested)
        except EvaluationStopped:
            print(f"Stopped by {interruption.signal_name}; nothing was written.")
            return command_line.exit_code(interruption.signal_name)
    folder = Path(_OUTPUT_DIR.value) if _OUTPUT_DIR.value else run.directory.diagnosis
    page = write_diagnosis_page(folder, found)
    print(f"{to_text(found)}\n\npage      {page}\nnumbers   {folder / NUMBERS}")
    if not _OUTPUT_DIR.value and (run.directory.report / PAGE).exists():
        print(f"report    {write_report([run.directory.path], run.directory.report)}")
    return 0


if __name__ == "__main__":
    command_line.run(main)
