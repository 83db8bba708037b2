import contextlib
import threading
import time

import pytest

from simple_tf.training.background_work import BackgroundError, BackgroundWork


def _never():
    return False


def test_the_work_goes_on_beside_and_is_waited_for():
    go_on, done = threading.Event(), []

    def work(cancelled):
        assert go_on.wait(30)
        done.append((threading.current_thread() is threading.main_thread(), cancelled()))

    with BackgroundWork() as beside:
        assert beside.wait(_never)  # There is nothing to wait for.
        beside.start("something", work)
        asked = iter([False, False, True])
        assert not beside.wait(lambda: next(asked))
        assert not done
        with pytest.raises(RuntimeError, match="no room for more before something has ended"):
            beside.start("more", work)
        go_on.set()
        assert beside.wait(_never)
        assert done == [(False, False)]
        beside.start("more", work)
        assert beside.wait(_never)
        assert len(done) == 2


def test_an_error_is_kept_until_somebody_looks():
    def fail(cancelled):
        raise ValueError("a reason.")

    with BackgroundWork() as beside:
        assert not beside.failed
        beside.start("the evaluation of iteration 3", fail)
        while not beside.failed:
            time.sleep(0.001)
        for look in (beside.check, lambda: beside.wait(_never)):
            message = r"the evaluation of iteration 3 has failed with ValueError: a reason\."
            with pytest.raises(BackgroundError, match=message) as raised:
                look()
            assert isinstance(raised.value.__cause__, ValueError)
        beside.start("the next", lambda cancelled: None)
        assert beside.wait(_never)
        assert not beside.failed


def test_leaving_cancels_and_waits_even_after_an_error():
    ended = []

    def work(cancelled):
        while not cancelled():
            time.sleep(0.001)
        time.sleep(0.05)
        ended.append(True)

    beside = BackgroundWork()
    with contextlib.suppress(KeyError), beside:
        beside.start("something", work)
        raise KeyError
    assert ended == [True]
    with beside:  # And it can be used again.
        beside.start("something", lambda cancelled: ended.append(cancelled()))
        assert beside.wait(_never)
    assert ended == [True, False]
