"""BUILD says what the sources say, and Bazel can read it."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _build_file():
    spec = importlib.util.spec_from_file_location("build_file", ROOT / "tests" / "build_file.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_build_is_in_step_with_the_sources():
    expected = _build_file().build_text()
    assert (ROOT / "BUILD").read_text() == expected, "run: python tests/build_file.py > BUILD"


def test_every_source_and_test_has_a_target():
    build = (ROOT / "BUILD").read_text()
    sources = [
        *(ROOT / "simple_tf").rglob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),
        *(ROOT / "tests").rglob("*_test.py"),
    ]
    assert len(sources) > 40
    for source in sources:
        assert f'"{source.relative_to(ROOT)}"' in build


@pytest.mark.skipif(not shutil.which("bazel"), reason="Bazel is not installed")
def test_bazel_reads_it(tmp_path):
    query = ["bazel", f"--output_user_root={tmp_path}", "--batch", "query", "//..."]
    listed = subprocess.run(query, cwd=ROOT, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    assert "//:envs" in listed.stdout.split()
