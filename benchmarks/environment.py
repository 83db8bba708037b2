"""How fast are the real games? Agent steps per second against the bare emulator, in one run.

    python benchmarks/environment.py [--games=pong,freeway] [--num_slots=16] [--rounds=40]

Bare: `ale_py` stepped four frames at a time with two screen reads, nothing else. One core: one game
in this process, frames processed and stacked. All cores: a batch of games in worker processes.
The three take turns of a fraction of a second, so that other load on the machine hits all alike;
ratios are medians over the rounds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import ale_py
import numpy as np
from absl import app, flags

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game
from simple_tf.resident_memory import peak_bytes

_GAMES = flags.DEFINE_list("games", ["pong", "freeway"], "Games to measure.")
_NUM_SLOTS = flags.DEFINE_integer("num_slots", 16, "Games in the batch on all cores.")
_ROUNDS = flags.DEFINE_integer("rounds", 40, "Turns of each contestant.")
_STEPS = flags.DEFINE_integer("steps", 320, "Agent steps per turn.")
_MEMORY_STEPS = flags.DEFINE_integer(
    "memory_steps", 0, "If positive, also play so many steps and print how memory grows."
)


def bare_emulator(game: str) -> Iterator[None]:
    """Plays random actions forever, one agent step for each `next`."""
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    rom = ale_py.roms.get_rom_path(game)
    assert rom is not None, game
    ale.loadROM(rom)
    actions = ale.getMinimalActionSet()
    first, second = np.zeros((2, 210, 160, 3), np.uint8)
    rng = np.random.default_rng(0)
    while True:
        for choice in rng.integers(0, len(actions), 1000).tolist():
            action = actions[choice]
            ale.act(action)
            ale.act(action)
            ale.act(action)
            ale.getScreenRGB(first)
            ale.act(action)
            ale.getScreenRGB(second)
            if ale.game_over():
                ale.reset_game()
            yield


def batch_player(batch: GameBatch) -> Iterator[None]:
    """Plays random actions forever, one step of the whole batch for each `next`."""
    rng = np.random.default_rng(0)
    batch.reset()
    while True:
        for actions in rng.integers(0, batch.num_actions, (1000, batch.num_slots)):
            batch.step(actions)
            yield


def steps_per_second(player: Iterator[None], turns: int, steps_per_turn: int) -> float:
    """Times `turns` turns of a player."""
    begin = time.perf_counter()
    for _ in range(turns):
        next(player)
    return turns * steps_per_turn / (time.perf_counter() - begin)


def measure_rates(game: str) -> None:
    """Prints the rates of one game."""
    cores = os.sched_getaffinity(0)
    slots = _NUM_SLOTS.value
    with GameBatch(find_game(game), 1) as one, GameBatch(find_game(game), slots) as many:
        contestants: list[Callable[[], float]] = [
            _on({min(cores)}, bare_emulator(game), _STEPS.value, 1),
            _on({min(cores)}, batch_player(one), _STEPS.value, 1),
            _on(cores, batch_player(many), 2 * _STEPS.value // slots, slots),
        ]
        for contestant in contestants:
            contestant()
        rates = np.array(
            [[measure_one() for measure_one in contestants] for _ in range(_ROUNDS.value)]
        )
    bare, single, batched = np.median(rates, axis=0)
    share = np.median(rates[:, 1] / rates[:, 0])
    gain = np.median(rates[:, 2] / rates[:, 1])
    print(
        f"{game:16s} bare emulator {bare:6.0f}  one core {single:6.0f} ({share:.0%} of bare)  "
        f"{slots} games on {len(cores)} cores {batched:6.0f} ({gain:.2f} x one core)",
        flush=True,
    )


def _on(
    cores: set[int], player: Iterator[None], turns: int, steps_per_turn: int
) -> Callable[[], float]:
    def run() -> float:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)
        try:
            return steps_per_second(player, turns, steps_per_turn)
        finally:
            os.sched_setaffinity(0, before)

    return run


def measure_memory(game: str, steps: int) -> None:
    """Prints the peak memory of this process and its workers in ten equal parts of a long run."""
    with GameBatch(find_game(game), _NUM_SLOTS.value, num_workers=0) as batch:
        player = batch_player(batch)
        peaks = []
        for _ in range(10):
            for _ in range(steps // 10 // batch.num_slots):
                next(player)
            peaks.append(peak_bytes() / 2**20)
    print(f"{game:16s} peak MB in tenths of {steps} steps: {' '.join(f'{p:.1f}' for p in peaks)}")


def main(_: list[str]) -> None:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    for game in _GAMES.value:
        measure_rates(game)
        if _MEMORY_STEPS.value:
            measure_memory(game, _MEMORY_STEPS.value)


if __name__ == "__main__":
    app.run(main)
