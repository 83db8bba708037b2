"""`python -m simple_tf.import_t2t` as a user meets it."""

import pathlib
import subprocess
import sys

import numpy as np

COMMAND = [sys.executable, "-m", "simple_tf.import_t2t"]
POLICY = pathlib.Path(__file__).parent.parent / "agents" / "golden" / "policy.npz"


def run(checkpoint, output_dir, *arguments):
    return subprocess.run(
        [*COMMAND, f"--checkpoint={checkpoint}", f"--output_dir={output_dir}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_and_verifies(original, tmp_path):
    arguments = {"observation_shape": (4, 105, 80, 3), "num_actions": 6}
    original.save(tmp_path / "theirs" / "model.ckpt-3", original.variables("policy", **arguments))
    done = run(tmp_path / "theirs", tmp_path / "ours", f"--verify={POLICY}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Mapped: 11 variables" in done.stdout
    assert "value_epoch3" in done.stdout
    assert "PASSED: all 4 are within 0.0001." in done.stdout


def test_disagreement_is_an_exit_code_and_the_recording_tells_the_frame_size(original, tmp_path):
    arguments = {"observation_shape": (4, 33, 30, 3), "num_actions": 18}
    prefix = original.save(tmp_path / "model.ckpt-3", original.variables("policy", **arguments))
    recording = tmp_path / "r.npz"
    observations = np.zeros([2, 4, 33, 30, 3], np.uint8)
    np.savez(recording, obs=observations, logits_epoch2=np.ones([2, 18], np.float32))
    done = run(prefix, tmp_path / "ours", f"--verify={recording}")
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAILED: 1 of 1 exceed 0.0001." in done.stdout


def test_mistakes_are_one_sentence(tmp_path):
    done = run(tmp_path / "nowhere", tmp_path / "ours")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: There is no checkpoint at")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "ours").exists()
