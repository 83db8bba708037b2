"""Writes the Bazel file from the sources: `python tests/build_file.py > BUILD`.

One library per sub-package with exactly the dependencies that its modules import, a binary for
every module that can be run, a test for every test file. Third-party packages are libraries without
sources: they come from the Python environment in which Bazel runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "simple_tf"

# Import name -> name on the package index, where they differ.
_DISTRIBUTIONS = {
    "absl": "absl-py",
    "ale_py": "ale-py",
    "gin": "gin-config",
    "gym_notices": "gym-notices",
    "tf_agents": "tf-agents",
    "tensorflow_probability": "tensorflow-probability",
}

_HEADER = '''"""Bazel targets, written by tests/build_file.py and kept in step by a test."""

package(default_visibility = ["//visibility:public"])

licenses(["notice"])  # Apache-2.0

exports_files(["LICENSE"])

filegroup(
    name = "gin_files",
    srcs = glob(["gin/*.gin"]),
)
'''


def build_text() -> str:
    """Returns what BUILD has to contain."""
    libraries = {name: _library(name, files) for name, files in sub_packages().items()}
    third_party = sorted(
        {dep for files in _all_sources() for dep in dependencies(files) if dep.startswith("pip_")}
    )
    targets = [
        *(_target("py_library", name=name) for name in third_party),
        *libraries.values(),
        *(_binary(path) for path in binaries()),
        *(target for path in test_files() for target in _tests(path)),
        _target("test_suite", name="fast", tags=["-slow"]),
        _target("test_suite", name="slow", tags=["slow"]),
    ]
    return _HEADER + "".join(f"\n{target}" for target in targets)


def sub_packages() -> dict[str, list[Path]]:
    """Returns the library files of the package itself and of each sub-package."""
    folders = {PACKAGE: ROOT / PACKAGE}
    folders |= {path.parent.name: path.parent for path in (ROOT / PACKAGE).glob("*/__init__.py")}
    return {
        name: [path for path in sorted(folder.glob("*.py")) if path not in binaries()]
        for name, folder in sorted(folders.items())
    }


def binaries() -> list[Path]:
    """Returns the modules that people run."""
    modules = [path for path in (ROOT / PACKAGE).rglob("*.py") if "absl" in path.read_text()]
    candidates = [*modules, *(ROOT / "benchmarks").glob("*.py")]
    return sorted(path for path in candidates if _is_main(path))


def test_files() -> list[Path]:
    """Returns all files with tests."""
    return sorted((ROOT / "tests").rglob("*_test.py"))


def dependencies(path: Path) -> set[str]:
    """Returns the targets that a file imports."""
    return {target for module in _imported(path) if (target := _target_of(module, path))}


def _all_sources() -> Iterator[Path]:
    for files in sub_packages().values():
        yield from files
    yield from binaries()
    yield from test_files()


def _is_main(path: Path) -> bool:
    return '__name__ == "__main__"' in path.read_text()


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from simple_tf.data import codec` may name a module or a member of one.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _target_of(module: str, importer: Path) -> str | None:
    top, *rest = module.split(".")
    if top == PACKAGE:
        binary = ROOT / PACKAGE / "/".join(rest[:2])
        for candidate in (binary.with_suffix(".py"), binary.parent.with_suffix(".py")):
            if candidate in binaries():
                return _binary_name(candidate)
        return rest[0] if rest and (ROOT / PACKAGE / rest[0]).is_dir() else PACKAGE
    if top in sys.stdlib_module_names or (importer.parent / f"{top}.py").exists():
        return None
    if top in ("tests", "conftest"):
        return None
    return "pip_" + _DISTRIBUTIONS.get(top, top).replace("-", "_")


def _library(name: str, files: Iterable[Path]) -> str:
    # Importing a module of a sub-package imports the package itself first.
    needed = set().union({PACKAGE}, *(dependencies(path) for path in files)) - {name}
    data = [":gin_files"] * (name == "training") + _relative(_shipped_data(name))
    return _target("py_library", name=name, srcs=_relative(files), data=data, deps=_labels(needed))


def _shipped_data(name: str) -> list[Path]:
    """Returns the files of a sub-package that are read, not imported."""
    folder = ROOT / PACKAGE / name
    return [p for p in folder.glob("*.*") if p.suffix != ".py"] if name != PACKAGE else []


def _binary(path: Path) -> str:
    return _target(
        "py_binary",
        name=_binary_name(path),
        srcs=_relative([path, *_siblings(path)]),
        main=str(path.relative_to(ROOT)),
        deps=_labels(set().union({PACKAGE}, *map(dependencies, [path, *_siblings(path)]))),
    )


def _siblings(path: Path) -> list[Path]:
    """Returns the files beside a script that it imports by their bare names."""
    candidates = [path.with_name(f"{module.split('.')[0]}.py") for module in _imported(path)]
    return sorted({candidate for candidate in candidates if candidate.exists()} - {path})


def _binary_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "_".join(parts[1:] if parts[0] == PACKAGE and len(parts) == 2 else parts)


def _tests(path: Path) -> Iterator[str]:
    """One target with the file's fast tests, and one with its slow ones, if any."""
    name = "_".join(path.relative_to(ROOT).with_suffix("").parts)
    where = str(path.relative_to(ROOT))
    helpers = [p for p in sorted(path.parent.glob("*.py")) if not p.name.endswith("_test.py")]
    helpers += [ROOT / "tests" / "run_pytest.py"] * (path.parent != ROOT / "tests")
    helpers += _helpers_elsewhere([path, *helpers])
    golden = path.parent / "golden"
    common = {
        "srcs": _relative([path, *helpers]),
        "main": "tests/run_pytest.py",
        "data": [f'glob(["{golden.relative_to(ROOT)}/**"])'] if golden.is_dir() else [],
    }
    needed = set().union(*(dependencies(p) for p in [path, *helpers]))
    deps = _labels(needed | {PACKAGE, "pip_pytest"})
    yield _target("py_test", name=name, args=[where], **common, deps=deps)
    if "mark.slow" in path.read_text():
        args = [where, "-m", "slow"]
        extra = {"tags": ["slow"], "timeout": "eternal"}
        yield _target("py_test", name=f"{name}_slow", args=args, **extra, **common, deps=deps)


def _helpers_elsewhere(files: Iterable[Path]) -> list[Path]:
    """Returns what tests import from another folder of tests: `from ..folder.module import`."""
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.level == 2}
    return [ROOT / "tests" / f"{module.replace('.', '/')}.py" for module in sorted(modules)]


def _relative(files: Iterable[Path]) -> list[str]:
    return sorted({str(path.relative_to(ROOT)) for path in files})


def _labels(names: Iterable[str]) -> list[str]:
    return sorted(f":{name}" for name in names)


def _target(rule: str, **attributes: str | list[str]) -> str:
    lines = [f"    {name} = {_value(value)}," for name, value in attributes.items() if value]
    return "\n".join([f"{rule}(", *lines, ")\n"])


def _value(value: str | list[str]) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if value[0].startswith("glob("):
        return value[0]
    if len(value) == 1:
        return f'["{value[0]}"]'
    return "\n".join(["[", *(f'        "{item}",' for item in value), "    ]"])


if __name__ == "__main__":
    print(build_text(), end="")
