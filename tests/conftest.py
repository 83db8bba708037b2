"""What holds for all tests."""

import simple_tf  # noqa: F401  # Before TensorFlow, as in every program: sets what it needs.
