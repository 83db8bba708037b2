"""Runs pytest on the files given; Bazel starts every test through this."""

import sys

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:]))
