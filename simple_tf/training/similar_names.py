"""The names that look most like one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST = 2
_SIMILARITY = 0.75


def did_you_mean(wrong: str, names: Iterable[str], prefix: str = "") -> str:
    """Returns the names that look most like a wrong one as a question; nothing if none does."""
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wrong.lower(), by_lower_case, _MOST, _SIMILARITY)
    if not close:
        return ""
    return f" Did you mean {' or '.join(prefix + by_lower_case[name] for name in close)}?"
