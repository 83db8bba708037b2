"""Where gin files are: `--gin_file=sd.gin` works from any directory.

Needs nothing but Python, so that a sweep can be read where nothing is installed yet.
"""

from __future__ import annotations

from pathlib import Path

from simple_tf.training.similar_names import did_you_mean

_PACKAGE = Path(__file__).resolve().parent.parent


class ConfigurationError(ValueError):
    """A gin file is missing, or a binding is wrong; the message says which."""


def shipped_directory() -> Path:
    """Where the shipped gin files are: inside an installed package, or in a source checkout."""
    installed = _PACKAGE / "configurations"
    return installed if installed.is_dir() else _PACKAGE.parent / "gin"


def find_gin_file(name: str) -> Path:
    """Returns the file called `name`: as a path, or else among the shipped configurations."""
    for candidate in (Path(name), shipped_directory() / name):
        if candidate.is_file():
            return candidate
    shipped = sorted(path.name for path in shipped_directory().glob("*.gin"))
    raise ConfigurationError(
        f"There is no gin file {name!r}.{did_you_mean(name, shipped)} Shipped with simple_tf: "
        f"{', '.join(shipped)}."
    )
