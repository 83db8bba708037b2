"""What the page asks for, and the answers, as plain values that JSON can hold."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simple_tf.data.png import encode_frame
from simple_tf.evaluation.comparison import Comparison
from simple_tf.evaluation.motion_quality import TOLERANCE
from simple_tf.evaluation.panes import difference
from simple_tf.evaluation.video import NoEncoderError
from simple_tf.player.places import Place, Places
from simple_tf.player.session import Moment, Session, Side

_HOTTEST = 1e6


class RequestError(ValueError):
    """Something was asked for that is not there; the message says what."""


class Api:
    """Answers requests about one session. Not safe for several threads at once.

    Args:
        session: the games.
        places: where they may start.
        about: what the page says about the run, and the names of the actions.
        write_video: writes what has been played, and returns where.
    """

    def __init__(
        self,
        session: Session,
        places: Places,
        about: Mapping[str, Any],
        write_video: Callable[[Comparison], Path],
    ) -> None:
        self._session = session
        self._places = places
        self._about = dict(about)
        self._write_video = write_video
        self._calls: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "about": lambda arguments: self._about,
            "start": self._start,
            "step": self._step,
            "video": self._video,
        }

    def answer(self, name: str, arguments: Any) -> dict[str, Any]:
        """Answers a request.

        Args:
            name: "about"; "start", at a `place` or at any of a `kind`; "step", with an `action` or
                with that of a `chooser`, who may have a `temperature`; or "video".
            arguments: by their names.

        Raises:
            RequestError: it cannot be answered.
        """
        if name not in self._calls:
            raise RequestError(f"there is nothing called {name}")
        if not isinstance(arguments, Mapping):
            raise RequestError("arguments are given by their names, as a JSON object")
        try:
            return self._calls[name](arguments)
        except ValueError as error:
            raise RequestError(str(error)) from error

    def _start(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        where, names = arguments.get("place"), Place._fields
        if where is None:
            place = self._places.draw(arguments.get("kind", "anywhere"))
        elif isinstance(where, Mapping) and all(type(where.get(name)) is int for name in names):
            place = Place(*(where[name] for name in names))
        else:
            raise RequestError(f"a place has the whole numbers {', '.join(names)}")
        return to_json(self._session.start(place))

    def _step(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        action = arguments.get("action")
        if action is None:
            temperature = arguments.get("temperature", 1.0)
            if type(temperature) not in (int, float) or not temperature < _HOTTEST:
                raise RequestError(f"a temperature is a number below {_HOTTEST:g}")
            action = self._session.choice(arguments.get("chooser", "dream"), float(temperature))
        if type(action) is not int:
            raise RequestError(f"an action is a whole number, not {action!r}")
        return to_json(self._session.step(action))

    def _video(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        comparison = self._session.comparison()
        try:
            return {"path": str(self._write_video(comparison))}
        except (OSError, NoEncoderError) as error:
            raise RequestError(f"the video could not be written: {error}") from error

    def close(self) -> None:
        """Ends the games; nothing is answered any more."""
        self._calls = {}
        self._session.close()


def to_json(moment: Moment) -> dict[str, Any]:
    """Returns a moment as plain values, its pictures as data URLs."""
    fields = {
        "place": moment.place._asdict(),
        "start": moment.start,
        "step": moment.step,
        "action": moment.action,
    }
    if moment.real is None or moment.screen is None:
        return {**fields, "dream": _side(moment.dream), "real": None}
    dream, real = moment.dream.frame, moment.real.frame
    different = difference(dream, real, TOLERANCE)
    return {
        **fields,
        "dream": _side(moment.dream),
        "real": {**_side(moment.real), "score": moment.score, "over": moment.over},
        "screen": _picture(moment.screen),
        "difference": _picture(different),
        "wrong": float(different.any(axis=-1).mean()),
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "frame": _picture(side.frame),
        "reward": side.reward,
        "total": side.total,
        "value": side.opinion.value,
        "probabilities": side.opinion.probabilities().tolist(),
    }


def _picture(frame: np.ndarray) -> str:
    return "data:image/png;base64," + base64.b64encode(encode_frame(frame)).decode()
