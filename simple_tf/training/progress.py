"""What a person sees while a phase runs: one line with rate, time left and the telling number."""

from __future__ import annotations

from types import TracebackType

from tqdm import tqdm


class ProgressLine:
    """A progress bar on a terminal, and nothing elsewhere.

    Args:
        title: what is going on.
        total: its size.
        unit: what is counted.
        done: how much was done before, by an earlier start of the run.
    """

    def __init__(self, title: str, total: int, unit: str, done: int = 0) -> None:
        self._bar = tqdm(
            total=total,
            initial=done,
            desc=title,
            unit=f" {unit}",
            disable=None,  # Quiet unless a person is watching.
            dynamic_ncols=True,
            leave=False,
        )

    def show(self, done: int, remark: str) -> None:
        """Moves the bar to `done`, with a remark behind it."""
        self._bar.set_postfix_str(remark, refresh=False)
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
