"""What holds for all tests."""

import sys
from pathlib import Path

import simple_tf  # noqa: F401  # Before TensorFlow, as in every program: sets what it needs.

sys.path.insert(0, str(Path(__file__).parent))  # For what tests share.
