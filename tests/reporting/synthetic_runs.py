"""Writes run directories as the training loop does, with chosen scores and nothing trained."""

import json

import numpy as np

from simple_tf.data import png
from simple_tf.evaluation.card import Card, write_card
from simple_tf.training.run_directory import RunDirectory


def make_card(game, scores, iteration=None, interactions=0, max_steps=50_000, cut=None, seed=0):
    """A card with given scores; without an iteration, of the random player."""
    policy = iteration is not None
    return Card(
        game=game,
        game_settings={
            "emulator": "ale_py 0.12.1",
            "noop_range": [1, 8],
            "sticky_probability": 0.0,
        },
        player="policy" if policy else "random",
        checkpoint=f"policies/iteration_{iteration:03d}" if policy else None,
        iteration=iteration,
        interactions=interactions,
        temperature=0.5 if policy else None,
        max_steps=max_steps,
        seed=seed,
        returns=tuple(map(float, scores)),
        lengths=tuple(range(100, 100 + len(scores))),
        cut=tuple(cut or [False] * len(scores)),
        versions={"simple_tf": "0.1", "ale-py": "0.12.1"},
        created="2030-01-02T03:04:05+00:00",
        seconds=12.5,
    )


def write_run(
    path,
    game="pong",
    seed=0,
    curve=(-20.0, -12.0, 3.0),
    final=(10.0, 14.0),
    random=(-21.0, -20.0, -20.0, -21.0),
    gin_file="sd.gin",
    bindings=None,
    planned=None,
    filmstrip=True,
    interactions=100_000,
):
    """Writes one run; `final` None leaves it half-finished."""
    run = RunDirectory(path)
    path.mkdir(parents=True)
    iterations = planned or len(curve)
    command = ["python", "-m", "simple_tf.train", f"--gin_file={gin_file}", f"--game={game}"]
    fields = {
        "format": "simple_tf run",
        "format_version": 1,
        "game": game,
        "seed": seed,
        "bindings": {"Schedule.iterations": str(iterations), **(bindings or {})},
        "starts": [{"time": "2030-01-01T00:00:00+00:00", "command": command}],
    }
    run.description.write_text(json.dumps(fields))
    per_iteration = interactions // len(curve)
    with run.metrics.open("w") as file:
        for number, score in enumerate(curve, start=1):
            so_far = number * per_iteration
            card = make_card(game, [score - 1, score + 1], number, so_far, 1000, seed=seed)
            write_card(run.evaluation(f"iteration_{number:03d}"), card)
            for record in _records(number, so_far, len(curve)):
                file.write(json.dumps(record) + "\n")
            if filmstrip:
                image = np.full((60, 300, 3), 40 * number % 255, np.uint8)
                run.filmstrip(number).parent.mkdir(exist_ok=True)
                run.filmstrip(number).write_bytes(png.encode_frame(image))
    if final is not None:
        write_card(
            run.evaluation("final"), make_card(game, final, len(curve), interactions, seed=seed)
        )
        if random is not None:
            write_card(run.evaluation("random"), make_card(game, random, seed=seed))
    return path


def _records(iteration, interactions, iterations):
    place = {
        "iteration": iteration,
        "step": 1,
        "interactions": interactions,
        "seconds": 100.0 * iteration,
        "time": 0.0,
    }
    share = iteration / iterations
    accuracy = {
        "world_model_evaluation/reward_accuracy_12": 0.6 + 0.35 * share,
        "world_model_evaluation/reward_accuracy_50": 0.2 + 0.6 * share,
        "world_model_evaluation/no_reward_accuracy_12": 0.55,
        "world_model_evaluation/no_reward_accuracy_50": 0.11,
        "world_model_evaluation/changed_pixel_accuracy_50": None,
    }
    times = {
        "time/world_model": 60.0,
        "time/policy": 25.0,
        "time/collection": 5.0,
        "time/evaluation": 10.0,
    }
    yield {**place, "phase": "world_model_evaluation", "metrics": accuracy}
    yield {**place, "phase": "iteration", "metrics": times}
