"""Where a policy goes that the data has never been.

States are compared as small grey pictures. How far from the data is far? Play that was held out
from training is the yardstick: a state is new if it is farther from the training data than all but
one in twenty of the held-out states are.
"""

from __future__ import annotations

import dataclasses

import numpy as np

EXPECTED_SHARE = 0.05
"""Share of states that would count as new if the policy went where the data comes from."""

_ROWS, _COLUMNS = 13, 10
_QUERIES_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Novelty:
    """Distances to the nearest state of the training data.

    Attributes:
        limit: distance beyond which a state is new.
        new_share: share of the policy's states that are.
        visited: distances of the policy's states, 21 quantiles from 0 to 1.
        held_out: the same of held-out states of the data.
    """

    limit: float
    new_share: float
    visited: tuple[float, ...]
    held_out: tuple[float, ...]


def measure_novelty(seen: np.ndarray, held_out: np.ndarray, visited: np.ndarray) -> Novelty:
    """Compares states with the data that a run was trained on.

    Args:
        seen: frames that were trained on, uint8 [N, H, W, C].
        held_out: frames from the same play that were not, uint8 [M, H, W, C].
        visited: frames of the policy's own play, uint8 [L, H, W, C].
    """
    data = shrunk(seen)
    yardstick = nearest_distances(shrunk(held_out), data)
    distances = nearest_distances(shrunk(visited), data)
    limit = float(np.quantile(yardstick, 1.0 - EXPECTED_SHARE))
    return Novelty(
        limit, float((distances > limit).mean()), _quantiles(distances), _quantiles(yardstick)
    )


def shrunk(frames: np.ndarray) -> np.ndarray:
    """Grey pictures of about 13 x 10 cells, float32 [N, cells], from uint8 [N, H, W, C]."""
    number, height, width = frames.shape[:3]
    block = max(height // _ROWS, 1), max(width // _COLUMNS, 1)
    rows, columns = height // block[0], width // block[1]
    cut = frames[:, : rows * block[0], : columns * block[1]].astype(np.float32)
    cells = cut.reshape(number, rows, block[0], columns, block[1], -1).mean(axis=(2, 4, 5))
    return cells.reshape(number, -1)


def nearest_distances(queries: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Root mean square difference of each row from the nearest row of the data, float64 [N]."""
    queries, data = queries.astype(np.float64), data.astype(np.float64)
    lengths = (data**2).sum(axis=1)
    squares = [
        ((part**2).sum(axis=1)[:, None] - 2 * part @ data.T + lengths).min(axis=1)
        for part in np.split(queries, range(_QUERIES_AT_ONCE, len(queries), _QUERIES_AT_ONCE))
    ]
    return np.sqrt(np.maximum(np.concatenate(squares), 0.0) / data.shape[1])


def _quantiles(distances: np.ndarray) -> tuple[float, ...]:
    return tuple(np.quantile(distances, np.linspace(0.0, 1.0, 21)).tolist())
