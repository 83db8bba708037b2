"""What the benchmark of evaluations beside the loop reads from runs; it is run by hand."""

from benchmark_modules import load_benchmark


def test_the_first_iteration_and_the_last_do_not_count():
    benchmark = load_benchmark("background_evaluation")
    ends = [(0, 2.0, 0.0), (1, 60.0, 7.0), (2, 90.0, 4.0), (3, 121.0, 5.0), (4, 500.0, 100.0)]
    records = [{"iteration": 2, "phase": "evaluation", "seconds": 70.0, "metrics": {}}]
    records += [
        {
            "iteration": iteration,
            "phase": "iteration",
            "seconds": seconds,
            "metrics": {"time/evaluation": evaluation} if iteration else {},
        }
        for iteration, seconds, evaluation in ends
    ]
    assert benchmark.times_of(records) == (61.0, 9.0)
