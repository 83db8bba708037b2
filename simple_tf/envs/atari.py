"""Atari 2600 games on the Arcade Learning Environment, seen as the original SimPLe saw them."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import ale_py
import numpy as np

from simple_tf.envs.frame_processing import FrameProcessor
from simple_tf.envs.game import Game, GameSource, Outcome
from simple_tf.envs.settings import AtariSettings

# The 36 games of the paper's tables.
PAPER_GAMES = (
    "alien amidar assault asterix asteroids atlantis bank_heist battle_zone beam_rider bowling "
    "boxing breakout chopper_command crazy_climber demon_attack fishing_derby freeway frostbite "
    "gopher gravitar hero ice_hockey jamesbond kangaroo krull kung_fu_master ms_pacman "
    "name_this_game pong private_eye qbert riverraid road_runner seaquest up_n_down yars_revenge"
).split()

_NOOP = ale_py.Action.NOOP


@dataclasses.dataclass(frozen=True)
class AtariSource(GameSource):
    """An Atari game by its snake_case name."""

    name: str
    settings: AtariSettings

    def make(self) -> AtariGame:
        return AtariGame(self.name, self.settings)

    def settings_dict(self) -> dict[str, Any]:
        settings = dataclasses.asdict(self.settings)
        for name, default in (("frame_shape", None), ("whole_blocks", False)):
            if settings[name] == default:  # Stores from before it could be set do not know it.
                del settings[name]
        return {"emulator": f"ale_py {ale_py.__version__}", **settings}


@functools.cache
def atari_names() -> tuple[str, ...]:
    """Returns the snake_case names of all games that ale_py can play alone, sorted.

    A few cartridges that it ships need two players (combat); the emulator would end the process
    on loading them.
    """
    paths = {name: ale_py.roms.get_rom_path(name) for name in ale_py.roms.get_all_rom_ids()}
    supported = ale_py.ALEInterface.isSupportedROM
    return tuple(sorted(name for name, path in paths.items() if path and supported(path)))


def _rom(name: str) -> Path:
    path = ale_py.roms.get_rom_path(name) if name in atari_names() else None
    if path is None:
        raise ValueError(f"There is no Atari game called {name!r}.")
    return path


class AtariGame(Game):
    """One emulator. See `AtariSettings` for what the agent sees."""

    def __init__(self, name: str, settings: AtariSettings):
        self._settings = settings
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        # Sticky actions are drawn here, from the episode's seed, not by the emulator.
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.loadROM(_rom(name))
        self._actions = self._ale.getMinimalActionSet()
        self.action_meanings = tuple(action.name for action in self._actions)
        height, width = self._ale.getScreenDims()
        # The last two raw frames of a step. As in the original, a game over in the middle of a
        # step leaves older content in place.
        self._latest = np.zeros((height, width, 3), np.uint8)
        self._previous = np.zeros_like(self._latest) if settings.frame_skip > 1 else self._latest
        # Where each emulator frame of a step is kept, if at all.
        self._screens = ([None] * settings.frame_skip + [self._previous, self._latest])[
            -settings.frame_skip :
        ]
        shape = settings.frame_shape
        self._processor = FrameProcessor(
            (height, width, 3),
            settings.resize_factor,
            grayscale=shape[2] == 1 if shape else settings.grayscale,
            frame_size=shape[:2] if shape else None,
            whole_blocks=settings.whole_blocks,
        )
        self.frame_shape = self._processor.frame_shape
        self._rng = np.random.default_rng(0)
        self._held = _NOOP

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        fewest, most = self._settings.noop_range
        self._start()
        for _ in range(int(self._rng.integers(fewest, most + 1))):
            if self._hold(_NOOP)[1]:
                self._start()

    def step(self, action: int) -> Outcome:
        raw_reward, over = self._hold(self._actions[action])
        return Outcome(raw_reward, over, False)

    def write_frame(self, out: np.ndarray) -> None:
        np.maximum(self._previous, self._latest, out=self._processor.image)
        self._processor.write_frame(out)

    def screen(self) -> np.ndarray:
        return self._ale.getScreenRGB()

    def snapshot(self) -> tuple[ale_py.ALEState, ale_py.Action]:
        """Returns what `restore` takes; draws of sticky actions are not part of it."""
        return self._ale.cloneState(), self._held

    def restore(self, snapshot: tuple[ale_py.ALEState, ale_py.Action]) -> None:
        """Goes back to a snapshot of the same game; the next frame is that after the next step."""
        state, self._held = snapshot
        self._ale.restoreState(state)

    def _start(self) -> None:
        self._ale.reset_game()
        self._held = _NOOP
        self._ale.getScreenRGB(self._latest)
        np.copyto(self._previous, self._latest)

    def _hold(self, action: ale_py.Action) -> tuple[float, bool]:
        """Repeats the action for one agent step; returns the summed reward and whether it ended."""
        ale, sticky = self._ale, self._settings.sticky_probability > 0.0
        raw_reward = 0.0
        for screen in self._screens:
            raw_reward += ale.act(self._executed(action) if sticky else action)
            if screen is not None:
                ale.getScreenRGB(screen)
            if ale.game_over():
                return raw_reward, True
        return raw_reward, False

    def _executed(self, action: ale_py.Action) -> ale_py.Action:
        """Returns what a sticky joystick does when asked for `action`."""
        if self._rng.random() >= self._settings.sticky_probability:
            self._held = action
        return self._held
