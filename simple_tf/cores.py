"""How many cores a process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """The cores this process may use, which in a container or a job are not all that exist."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS has no such call.
