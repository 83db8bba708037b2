"""What the benchmark counts as work and as waiting."""

import subprocess
import sys

import numpy as np
import pytest
from benchmark_modules import load_benchmark

from simple_tf.envs.batch import GameBatch
from simple_tf.envs.catalog import find_game

WORK = "t = time.process_time()\nwhile time.process_time() < t + 0.3: pass"


@pytest.fixture(scope="module")
def idle():
    return load_benchmark("idle")


def test_children_s_processor_time_counts(idle):
    before = idle.processor_seconds()
    code = f"import time\n{WORK}\nprint('done', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert idle.processor_seconds() - before >= 0.25
        child.stdin.close()


def test_waiting_for_games_is_counted_within_the_block_only(idle):
    with GameBatch(find_game("pong"), 1, 0, num_workers=1) as games:
        games.reset()
        with idle.IdleWatch([games]) as watch:
            for _ in range(5):
                games.step(np.zeros(1, np.int32))
        assert "receive" not in vars(games)  # The class's own again.
    assert 0.0 < watch.waiting_for_games <= 1.0
    assert watch.seconds > 0.0
    assert watch.idle <= 1.0
