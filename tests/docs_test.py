"""The examples in the documents run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _blocks(document, language):
    text = (ROOT / document).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_readme_s_python_runs():
    (code,) = _blocks("README.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.startswith("(16, 4, 105, 80, 3) [")


def test_a_game_of_one_s_own_as_documented(tmp_path):
    (module,) = _blocks("docs/environments.md", "python")
    (command,) = _blocks("docs/environments.md", "bash")
    (tmp_path / "my_games.py").write_text(module)
    python = f"{sys.executable} -m simple_tf.collect"
    done = subprocess.run(
        ["bash", "-c", command.replace("python -m simple_tf.collect", python).strip()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "interactions  6400 in" in done.stdout


def test_links_in_documents_lead_somewhere():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"]
    assert len(documents) > 4
    for document in documents:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"
