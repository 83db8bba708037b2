"""What holds for all tests."""

import platform
import sys
from pathlib import Path

import pytest

import simple_tf  # noqa: F401  # Before TensorFlow, as in every program: sets what it needs.

sys.path.insert(0, str(Path(__file__).parent))  # For what tests share.


@pytest.fixture(scope="session")
def reverb():
    """The replay server's module. A test is skipped only where there is none for the platform."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("Reverb exists for Linux on x86-64 only.")
    import reverb

    return reverb
