"""What the benchmark of phases makes of its measurements; it is run by hand."""

import pytest
from benchmark_modules import load_benchmark


@pytest.fixture(scope="module")
def benchmark():
    return load_benchmark("phases")


def test_work_is_counted_and_compared_with_matrix_products(benchmark, monkeypatch):
    now = [0.0]

    def work():
        now[0] += 0.25
        return 40

    monkeypatch.setattr(benchmark.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(benchmark, "matmul_gflops", lambda: 200.0)
    rate = benchmark.measure(benchmark.Task("dreaming", "steps", work, 0.5, 3200.0), 3)
    assert rate == benchmark.Rate("dreaming", 160.0, "steps", 80.0, 0.4, 20.0)
    idle = benchmark.measure(benchmark.Task("windows", "windows", work, 0.0, None), 1)
    assert (idle.gflops, idle.share, idle.seconds) == (None, None, None)


def test_what_is_outside_learning(benchmark):
    rates = [
        benchmark.Rate("collection", 100.0, "steps", None, None, 30.0),
        benchmark.Rate("windows alone", 900.0, "windows", None, None, None),
        benchmark.Rate("world-model training", 50.0, "windows", 8.0, 0.4, 120.0),
        benchmark.Rate("dreaming, policy included", 2000.0, "steps", 9.0, 0.45, 30.0),
        benchmark.Rate("PPO update", 2.0, "updates", 9.0, 0.45, 20.0),
    ]
    lines = benchmark.report("cpu.gin", rates).splitlines()
    assert lines[-1].startswith("  a whole run: 0.06 h, 15.0% of it outside")
    training = "world-model training 50.0 windows/s 8.0 GFLOP/s 40.0% 120 s 60.0%"
    assert " ".join(lines[4].split()) == training
    assert lines[3].split() == ["windows", "alone", "900.0", "windows/s"]
