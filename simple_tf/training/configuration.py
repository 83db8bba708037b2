"""Parses gin files and bindings, and says what is wrong with them."""

from __future__ import annotations

import contextlib
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import Any

import gin
from absl import logging

from simple_tf.training.gin_files import ConfigurationError, find_gin_file, shipped_directory
from simple_tf.training.similar_names import did_you_mean
from simple_tf.training.suggestions import suggestion

# What gin raises for a mistake in a file or a binding, depending on the mistake.
_GIN_ERRORS = (ValueError, AttributeError, ImportError, OSError)

# Instead of what gin says of Python's own parser when it cannot read a line.
_EXPECTED = (
    "cannot be read. Expected is NAME = value, where a value is a number (100000), a text in "
    "quotes ('abc'), True, False or None, a list or tuple of such, or %NAME or @name."
)

# Makes gin write every binding on a line of its own.
_NO_LINE_BREAKS = 1_000_000

# `NAME = value` gives a macro, which `%NAME` uses.
_MACRO = re.compile(r"\s*(\w+)\s*=")
_MACRO_USE = re.compile(r"%(\w+)")


def configure(gin_files: Sequence[str], bindings: Sequence[str]) -> None:
    """Parses the files in order and then the bindings; anything unknown is an error.

    Args:
      gin_files: paths, or names of shipped files.
      bindings: further lines of gin, which win over the files.
    """
    paths = [str(find_gin_file(name)) for name in gin_files]
    gin.add_config_file_search_path(str(shipped_directory()))
    try:
        with _quiet_gin():
            gin.parse_config_files_and_bindings(paths, list(bindings), skip_unknown=False)
    except (SyntaxError, tokenize.TokenError) as error:
        place = _unreadable(error, bindings)
        raise ConfigurationError(f"The configuration is wrong: {place} {_EXPECTED}") from error
    except _GIN_ERRORS as error:
        raise ConfigurationError(f"The configuration is wrong: {_on_one_line(error)}") from error
    _check_macros(bindings)


def bound_value(name: str) -> Any:
    """What a parameter is bound to, a macro's value instead of the macro.

    Raises:
        ValueError: it is not bound.
    """
    value = gin.query_parameter(name)
    if isinstance(value, gin.config.ConfigurableReference) and value.evaluate:
        return value.scoped_configurable_fn()
    return value


def _check_macros(bindings: Sequence[str]) -> None:
    """A macro that nothing uses is a slip: gin takes any name for a new one."""
    macros = [match[1] for line in bindings if (match := _MACRO.match(line))]
    used = set(_MACRO_USE.findall(gin.config_str()))
    for name in macros:
        if name not in used:
            raise ConfigurationError(
                f"Nothing uses the macro {name}; settings have a dot in their name, as in "
                f"Schedule.iterations.{did_you_mean(name, used)}"
            )


@contextlib.contextmanager
def _quiet_gin() -> Iterator[None]:
    """Gin logs an error for every place where it did not find an include, even if it then does."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.FATAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def _unreadable(error: Exception, bindings: Sequence[str]) -> str:
    """The line that gin could not read, and where it is."""
    if not isinstance(error, SyntaxError) or error.lineno is None:
        return "something with a bracket or a quotation mark that is not closed"
    if error.filename:
        return f"line {error.lineno} of {error.filename}, {(error.text or '').strip()!r},"
    lines = "\n".join(bindings).splitlines()  # As gin has counted them.
    return f"--gin_bindings={lines[min(error.lineno, len(lines)) - 1]}"


def _on_one_line(error: Exception) -> str:
    """What is wrong and what may have been meant; gin says on further lines where it is."""
    what, *where = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return " ".join([what + suggestion(what), *where])


def parsed_bindings() -> dict[str, str]:
    """All bindings that were parsed, name to value, in gin's own notation and order."""
    bindings = {}
    for line in gin.config_str(max_line_length=_NO_LINE_BREAKS).splitlines():
        name, separator, value = line.partition(" = ")
        if separator and not name.startswith("#"):
            bindings[name.strip()] = value.strip()
    return bindings
