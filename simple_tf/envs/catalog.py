"""Finds a game by name: an Atari game in snake_case, or the id of a Gymnasium environment."""

from __future__ import annotations

import difflib
import importlib

from simple_tf.envs.atari import AtariSource, atari_names
from simple_tf.envs.game import GameSource
from simple_tf.envs.settings import AtariSettings, GymnasiumSettings


class UnknownGameError(ValueError):
    """No game of that name; the message names the nearest ones."""


def find_game(name: str) -> GameSource:
    """Returns the game called `name`, with the settings that gin has bound.

    Args:
      name: an Atari game in snake_case (`kung_fu_master`), a registered Gymnasium id
        (`MyGame-v0`), or `module:MyGame-v0`, where importing the module registers the id.

    Raises:
      UnknownGameError: if there is no such game.
    """
    if name in atari_names():
        return AtariSource(name, AtariSettings())
    # Imported late: emulator workers start faster without Gymnasium.
    from simple_tf.envs.gymnasium_game import GymnasiumSource

    if _is_registered(name):
        return GymnasiumSource(name, GymnasiumSettings())
    raise UnknownGameError(_unknown(name))


def _is_registered(name: str) -> bool:
    import gymnasium

    module, _, environment = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        gymnasium.spec(environment)
    except (ImportError, gymnasium.error.Error) as error:
        if module:
            raise UnknownGameError(f"{name!r} is no Gymnasium environment: {error}") from error
        return False
    return True


def _unknown(name: str) -> str:
    nearest = difflib.get_close_matches(_snake_case(name), atari_names(), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    return (
        f"There is no game called {name!r}.{hint} Atari games are named in snake_case "
        "(kung_fu_master); any other Gymnasium environment as Id-v0 or module:Id-v0."
    )


def _snake_case(name: str) -> str:
    spaced = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
    return spaced.lower().replace("-", "_").replace(" ", "_").strip("_")
