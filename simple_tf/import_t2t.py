"""Imports a checkpoint of the original implementation, and proves that it computes the same.

python -m simple_tf.import_t2t --checkpoint=t2t/world_model --output_dir=imported/world_model
"""

from __future__ import annotations

import re
from pathlib import Path

from absl import flags

from simple_tf.training import command_line, t2t_report
from simple_tf.training.t2t_comparison import Recording
from simple_tf.training.t2t_import import import_checkpoint, load_imported
from simple_tf.training.t2t_verification import recorded_frame_size, verify

_CHECKPOINT = flags.DEFINE_string(
    "checkpoint",
    None,
    "Checkpoint of Tensor2Tensor: a directory, a prefix (model.ckpt-123) or an .index file.",
    required=True,
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "New directory for ours.", required=True)
_FRAME_SIZE = flags.DEFINE_string(
    "frame_size",
    None,
    "HEIGHTxWIDTH of the frames; default: what the checkpoint or the recording says, or 105x80.",
)
_VERIFY = flags.DEFINE_string(
    "verify", None, "An npz file with tensors of the original to compare the imported network with."
)
_TOLERANCE = flags.DEFINE_float(
    "tolerance", 1e-4, "Largest relative error to accept in verification.", lower_bound=0.0
)


def main(_: list[str]) -> int:
    recording = Recording(_VERIFY.value) if _VERIFY.value else None
    frame_size = _parsed_size(_FRAME_SIZE.value)
    if frame_size is None and recording is not None:
        frame_size = recorded_frame_size(recording)
    output_dir = Path(_OUTPUT_DIR.value)
    imported = import_checkpoint(_CHECKPOINT.value, output_dir, frame_size)
    print("\n".join(t2t_report.describe_import(imported, output_dir)))
    if recording is None:
        return 0
    network = load_imported(output_dir)
    comparison = verify(network, imported.kind, recording, sees_targets=not imported.absent)
    lines, passed = t2t_report.describe_comparison(comparison, _TOLERANCE.value)
    print("\n".join(lines))
    return 0 if passed else 1


def _parsed_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not match:
        raise ValueError(f"--frame_size={text} is not of the form HEIGHTxWIDTH, e.g. 105x80.")
    return int(match.group(1)), int(match.group(2))


if __name__ == "__main__":
    command_line.run(main)
