"""What somebody who wrote a wrong name into a gin binding may have meant."""

from __future__ import annotations

import inspect
import re

import gin

from simple_tf.training.similar_names import did_you_mean

_UNKNOWN_CONFIGURABLE = re.compile(
    r"No configurable matching (?:reference )?'@?([\w./]+)(?:\(\))?'"
)
_UNKNOWN_PARAMETER = re.compile(r"Configurable '([\w.]+)' doesn't have a parameter named '(\w+)'")
_OURS = "simple_tf."


def suggestion(message: str) -> str:
    """Returns a question to put behind gin's message, or nothing if no name comes close."""
    if found := _UNKNOWN_PARAMETER.search(message):
        return did_you_mean(found[2], _parameters(found[1]), f"{found[1].split('.')[-1]}.")
    if found := _UNKNOWN_CONFIGURABLE.search(message):
        scope, _, name = found[1].rpartition("/")
        prefix = f"{scope}/" if scope else ""
        # What other packages have registered is rarely meant.
        return did_you_mean(name, _configurables(_OURS), prefix) or did_you_mean(
            name, _configurables(""), prefix
        )
    return ""


def _configurables(package: str) -> list[str]:
    """The names of all configurables of a package, given with its dot; "" is everywhere."""
    everything = [one for _, one in gin.config._REGISTRY.items()]
    return [one.name for one in everything if f"{one.module}.".startswith(package)]


def _parameters(selector: str) -> list[str]:
    """The parameters of a configurable that may be bound."""
    one = gin.config._REGISTRY.get_match(selector)
    names = inspect.signature(one.wrapped).parameters
    hidden = one.denylist or ()
    return [name for name in names if name not in hidden]
