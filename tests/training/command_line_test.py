import pytest

from simple_tf.training import command_line


@pytest.fixture
def run(monkeypatch):
    """Runs a `main` as a binary does, without flags; returns its exit code."""
    codes = []
    monkeypatch.setattr(command_line.app, "run", lambda main: codes.append(main(["program"])))

    def run_and_return(main):
        command_line.run(main)
        return codes.pop()

    return run_and_return


def test_ctrl_c_that_finds_nothing_to_save_shows_no_traceback(run, capsys):
    def main(_):
        raise KeyboardInterrupt

    assert run(main) == 130
    assert capsys.readouterr().err == "Stopped at once. What was saved before is whole.\n"


def test_a_user_s_mistake_is_a_sentence_and_a_bug_keeps_its_traceback(run, capsys):
    def mistake(_):
        raise ValueError("BUDGET is 0.\n  In call to configurable 'x'")

    def bug(_):
        raise RuntimeError("impossible")

    assert run(mistake) == 1
    assert capsys.readouterr().err.startswith("Error: BUDGET is 0. (--verbosity=1 shows")
    with pytest.raises(RuntimeError, match="impossible"):
        run(bug)
