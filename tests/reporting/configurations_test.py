"""What is called the same was the same."""

from simple_tf.reporting.configurations import Start, read_settings, read_start, told_apart

COMMAND = ["python", "-m", "simple_tf.train", "--gin_file=/somewhere/cpu.gin"]


def start(time, commit="", bindings=(), files=("cpu",)):
    return Start(files, tuple(bindings), time=time, commit=commit)


def test_a_start_is_read_from_the_first_command():
    extra = ["--gin_bindings=A.b=1", "--gin_bindings", "C.d = 2", "--init_from=runs/pong/"]
    first = {"time": "2030-01-01T10:00:00+00:00", "command": [*COMMAND, *extra], "commit": "0123ab"}
    found = read_start({"starts": [first, {"command": ["another"]}]})
    assert found == Start(("cpu",), ("A.b=1", "C.d = 2"), ("pong",), first["time"], "0123ab")
    assert found.label() == "cpu, after pong, A.b=1, C.d = 2"
    assert found.overridden == {"A.b", "C.d"}


def test_without_a_command_nothing_is_known():
    assert read_start({}) is None
    assert read_start({"starts": []}) is None


def test_a_file_that_has_not_changed_has_its_plain_name():
    starts = [(start("1"), {"A.b": "1"}), (start("2", "0123456789"), {"A.b": "1"})]
    assert told_apart(starts) == ["cpu", "cpu"]


def test_older_contents_are_named_by_the_commit_of_their_first_run():
    starts = [
        (start("3", "3333333333"), {"A.b": "2"}),
        (start("2", "2222222222"), {"A.b": "1"}),
        (start("1", "1111111111"), {"A.b": "1"}),
        (start("0", files=("sd",)), {"A.b": "3"}),
    ]
    assert told_apart(starts) == ["cpu", "cpu (1111111)", "cpu (1111111)", "sd"]


def test_what_the_command_line_binds_does_not_make_a_file_another():
    starts = [
        (start("2030-01-01T10", bindings=["A.b=7"]), {"A.b": "7", "C.d": "1"}),
        (start("2030-01-02T10"), {"A.b": "1", "C.d": "1"}),
    ]
    assert told_apart(starts) == ["cpu, A.b=7", "cpu"]
    later = (start("2030-01-03T10", "3333333333"), {"A.b": "1", "C.d": "2"})
    named = ["cpu (2030-01-01), A.b=7", "cpu (2030-01-01)", "cpu"]
    assert told_apart([*starts, later]) == named


def test_two_contents_of_one_commit_have_two_names():
    starts = [(start(str(time), "0123456789"), {"A.b": str(time)}) for time in range(4)]
    names = ["cpu (0123456)", "cpu (0123456, 2)", "cpu (0123456, 3)", "cpu"]
    assert told_apart(starts) == names


def test_a_binding_of_one_run_does_not_hide_that_others_had_other_files():
    starts = [
        (start("1", "1111111111"), {"A.b": "1"}),
        (start("2", "2222222222", bindings=["A.b=2"]), {"A.b": "2"}),
        (start("3", "3333333333"), {"A.b": "2"}),
    ]
    assert told_apart(starts) == ["cpu (1111111)", "cpu (1111111), A.b=2", "cpu"]


def test_settings_tried_by_bindings_that_are_the_file_s_by_now_have_its_name():
    # The file bound an optimiser's rate that the bindings left without use.
    tried = ["A.b=7", "A.optimizer=@other()"]
    starts = [
        (start("1", "1111111111"), {"A.b": "1", "adam.rate": "2"}),
        (start("2", "2222222222", tried), {"A.b": "7", "adam.rate": "2", "A.optimizer": "@other"}),
        (start("3", "3333333333", ["A.b=8"]), {"A.b": "8", "A.optimizer": "@other"}),
        (start("4", "4444444444"), {"A.b": "7", "A.optimizer": "@other"}),
    ]
    used = [
        read_settings(text)
        for text in (
            "A.b = 1\nadam.rate = 2",
            "# Parameters for A:\nA.b = 7\nA.optimizer = \\\n    @other()\n",
            "A.b = 8\nA.optimizer = @other()",
            "A.optimizer = @other()\nA.b = 7",
        )
    ]
    older, apart = "cpu (1111111)", ", ".join(["cpu (1111111)", *tried])
    assert told_apart(starts) == [older, apart, "cpu, A.b=8", "cpu"]
    assert told_apart(starts, used) == [older, "cpu", "cpu, A.b=8", "cpu"]
    unknown = [*used[:3], frozenset()]
    assert told_apart(starts, unknown) == [older, apart, "cpu, A.b=8", "cpu"]


def test_what_is_not_known_of_two_runs_does_not_make_them_the_same():
    starts = [
        (start("1", bindings=["A.b=7"]), {"A.b": "7"}),
        (start("2"), {"A.b": "1"}),
    ]
    assert told_apart(starts, [frozenset(), frozenset()]) == ["cpu, A.b=7", "cpu"]
