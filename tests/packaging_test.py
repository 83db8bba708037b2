"""The wheel holds what a user needs who has no checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    # Built from a copy: setuptools leaves build/ behind, which would go into the next wheel.
    subprocess.run(
        ["cp", "-r", *_packaged(), "--parents", "-t", _made(source)], cwd=ROOT, check=True
    )
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([*command, "--wheel-dir", directory, source], check=True)
    return next(directory.glob("*.whl"))


def _made(path):
    path.mkdir()
    return path


def _packaged():
    names = ["setup.py", "pyproject.toml", "README.md", "simple_tf", "gin"]
    return [name for name in names if (ROOT / name).exists()]


def test_the_wheel_ships_all_gin_files(wheel):
    shipped = {Path(name).name for name in zipfile.ZipFile(wheel).namelist()}
    gin_files = {path.name for path in (ROOT / "gin").glob("*.gin")}
    assert gin_files
    assert gin_files <= shipped


def test_the_wheel_ships_the_paper_s_scores(wheel):
    with zipfile.ZipFile(wheel) as archive:
        shipped = archive.read("simple_tf/evaluation/paper_scores.csv")
    assert shipped == (ROOT / "simple_tf" / "evaluation" / "paper_scores.csv").read_bytes()


def test_an_installed_wheel_finds_them_from_anywhere(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "from simple_tf.training.configuration import configure\n"
        "from simple_tf.training.gin_files import find_gin_file\n"
        "import simple_tf.training.random_play\n"
        "print(find_gin_file('random_play.gin'))\n"
        "configure(['random_play.gin'], [])\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=elsewhere,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "site")


def test_another_python_is_refused_in_one_sentence(tmp_path):
    setup = (ROOT / "setup.py").read_text()
    pretend = "import sys\nsys.version_info = (3, 12, 1, 'final', 0)\n"
    (tmp_path / "setup.py").write_text(pretend + setup)
    done = subprocess.run(
        [sys.executable, "setup.py", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (sentence,) = done.stderr.strip().splitlines()
    assert sentence.startswith("simple_tf needs Python 3.10 or 3.11")
    assert sentence.endswith("this is Python 3.12.")
