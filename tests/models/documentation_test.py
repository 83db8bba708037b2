"""The example of a model of one's own in the documentation works, by hand and in a run."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import tensorflow as tf

from simple_tf.models.heads import L2Head
from simple_tf.models.trainer import WorldModelTrainer

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "world_models.md"
# Of the documented run only the size is changed.
SMALLER = (
    "Schedule.iterations=1",
    "Schedule.max_interactions=1200",
    "Schedule.world_model_steps=4",
    "Schedule.policy_updates=1",
    "final/EvaluationProtocol.max_steps=50",
    "in_training/EvaluationProtocol.max_steps=50",
)


def _section_blocks() -> tuple[str, str, str]:
    """The Python, the gin file and the command of the section on one's own model."""
    section = DOCUMENT.read_text().split("## Your own model\n")[1]
    python, configuration, command = re.findall(r"```\w*\n(.*?)```", section, flags=re.DOTALL)
    return python, configuration, command


def test_the_documented_model_steps_and_learns():
    code, _, _ = _section_blocks()
    namespace: dict = {"__name__": "documented_by_hand"}
    exec(compile(code, str(DOCUMENT), "exec"), namespace)
    model = namespace["StillLife"]((8, 6, 3), 4, L2Head(3))
    frames = np.random.RandomState(0).randint(0, 256, (2, 1, 8, 6, 3)).repeat(6, 1)
    frames = tf.constant(frames.astype(np.uint8))
    actions = tf.constant([[0, 1, 2, 3, 0], [3, 2, 1, 0, 3]])
    prediction = model.step((), frames[:, :4], actions[:, 3], (0, 0))
    assert model.decode(prediction.outputs).shape == (2, 8, 6, 3)
    trainer = WorldModelTrainer(model, tf.keras.optimizers.Adam(0.05))
    losses = [trainer.train_step(frames, actions, actions % 3) for _ in range(120)]
    assert float(losses[-1]["pixel_loss"]) < 0.1 * float(losses[0]["pixel_loss"])
    assert float(losses[-1]["reward_accuracy"]) == 1.0


def test_the_documented_run_trains_it_and_is_evaluated(tmp_path):
    code, configuration, command = _section_blocks()
    (tmp_path / "my_models.py").write_text(code)
    (tmp_path / "still_life.gin").write_text(configuration)
    words = command.split()
    assert words[0] == "python"
    bindings = [f"--gin_bindings={binding}" for binding in SMALLER]
    _run(tmp_path, [*words[1:], *bindings])
    run = tmp_path / "runs" / "still_life"
    assert "import my_models" in (run / "config.gin").read_text()
    score = json.loads((run / "evaluations" / "final.json").read_text())
    assert score["game"] == "pong"
    evaluate = ["-m", "simple_tf.evaluate", "--run=runs/still_life", "--output_dir=again"]
    _run(tmp_path, [*evaluate, "--episodes=1", "--max_steps=20", "--video"])
    assert list((tmp_path / "again").rglob("*.mp4"))


def _run(folder: pathlib.Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
