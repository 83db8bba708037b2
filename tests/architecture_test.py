"""The rules of the house that a reader relies on."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "simple_tf"

# A sub-package may import itself and those to its left.
ORDER = ["data", "models", "envs", "agents", "evaluation", "training", "reporting", "player"]
SOURCES = sorted(PACKAGE.rglob("*.py"))


def _imported_sub_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "simple_tf" and len(parts) > 1 and parts[1] in ORDER:
                yield parts[1]


def test_every_sub_package_has_its_place_in_the_order():
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found <= set(ORDER)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_order(path):
    folder = path.parent.name
    if folder not in ORDER:  # Binaries at the top may import everything.
        return
    allowed = set(ORDER[: ORDER.index(folder) + 1])
    if folder == "agents":
        allowed.remove("models")
    assert set(_imported_sub_packages(path)) <= allowed


def test_files_do_one_job():
    assert not list(PACKAGE.rglob("utils.py"))
    too_long = {p.name: n for p in SOURCES if (n := len(p.read_text().splitlines())) > 350}
    assert not too_long


def test_test_folders_mirror_the_package():
    folders = {test.parent.name for test in (ROOT / "tests").rglob("*_test.py")} - {"tests"}
    assert folders == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
