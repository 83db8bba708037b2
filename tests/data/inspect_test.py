"""The command as a user calls it, and what it says."""

import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from simple_tf.data.inspect import describe, inspect


def test_counts_per_iteration(make_store):
    store = make_store([[21, 10], [4]])
    lines = describe(store).splitlines()
    assert "pong, frames 12x10x3, 3 actions (NOOP, UP, DOWN)" in lines[0]
    assert "frame_skip=4" in lines[1]
    (first,) = (line.split() for line in lines if line.startswith("        0"))
    # Iteration, episodes, steps, terminated, truncated, train and dev frames.
    assert first[:7] == ["0", "2", "31", "1", "1", "30", "3"]
    returns = [episode.raw_return for episode in store.episodes_of(0)]
    assert float(first[7]) == pytest.approx(np.mean(returns), abs=0.006)
    rewards = np.concatenate([episode.rewards for episode in store.episodes_of(0)])
    assert [int(cell) for cell in first[8:11]] == [(rewards == v).sum() for v in (-1, 0, 1)]
    (total,) = (line.split() for line in lines if re.match(r" +all ", line))
    assert total[1:3] == ["3", "35"]


def test_whole_store(make_store, tmp_path, capsys):
    sheet = tmp_path / "sheet.png"
    assert inspect(make_store([[21, 10]]).directory, sheet) == 0
    assert "all 2 episode files are whole" in capsys.readouterr().out
    assert tf.io.decode_png(sheet.read_bytes()).shape[2] == 3


def test_damaged_store(make_store, capsys):
    store = make_store([[21, 10]])
    store.episodes[0].path.write_bytes(b"")
    assert inspect(store.directory, None) == 1
    output = capsys.readouterr().out
    assert re.search(r"DAMAGED .*episode_00000\.tfrecord", output)
    assert "episode_00001" not in output


def test_nothing_to_show(make_store, tmp_path, capsys):
    assert inspect(tmp_path / "missing", None) == 1
    assert "there is no directory" in capsys.readouterr().err
    assert inspect(tmp_path, None) == 1
    assert "is not an episode store" in capsys.readouterr().err
    assert inspect(make_store([]).directory, None) == 1
    assert "with no readable episode" in capsys.readouterr().err


def test_contact_sheet_that_cannot_be_written(make_store, tmp_path, capsys):
    assert inspect(make_store([[5]]).directory, tmp_path / "missing" / "sheet.png") == 1
    assert "the contact sheet was not written" in capsys.readouterr().err


def test_the_command(make_store):
    directory = make_store([[21, 10]]).directory
    command = [sys.executable, "-m", "simple_tf.data.inspect", f"--store_dir={directory}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert f"contact sheet: {directory}/contact_sheet.png" in done.stdout
    assert done.stderr == ""
    assert (directory / "contact_sheet.png").exists()
