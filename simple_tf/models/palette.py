"""The colours a game shows, as a growing table with stable indices."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

# Packed key of an empty slot: larger than any colour, so that keys stay sorted.
_EMPTY = 2**31 - 1
_GREYS = np.arange(256, dtype=np.uint8)[:, np.newaxis]


@dataclasses.dataclass(frozen=True)
class PaletteUpdate:
    """What `Palette.update` found.

    Attributes:
        added: colours that got a slot.
        rejected: new colours for which no slot was left.
        rejected_pixels: pixels of those colours among the frames given.
        pixels: all pixels given.
    """

    added: int
    rejected: int
    rejected_pixels: int
    pixels: int


class Palette(tf.Module):
    """Distinct colours in order of arrival, with a fixed capacity.

    Colours are only ever appended: an index keeps its meaning, so the weights of a model trained
    with a smaller palette stay valid when it grows. What fits is represented exactly; other
    colours are encoded as the nearest one inside.

    Args:
        capacity: number of slots, the width of a head over this palette.
        channels: channels of a frame, 1 or 3.
    """

    def __init__(self, capacity: int, channels: int = 3) -> None:
        super().__init__(name="palette")
        if channels not in (1, 3):
            raise ValueError(f"A palette needs frames of 1 or 3 channels, not {channels}.")
        self.capacity = capacity
        self.channels = channels
        self.size = tf.Variable(0, trainable=False, dtype=tf.int32, name="palette/size")
        self.colours = self._table("colours", np.zeros((capacity, channels), np.int32))
        self._sorted_keys = self._table("sorted_keys", np.full(capacity, _EMPTY, np.int32))
        self._sorted_slots = self._table("sorted_slots", np.zeros(capacity, np.int32))

    def update(self, frames: np.ndarray) -> PaletteUpdate:
        """Appends the colours of uint8 frames [..., C] while slots last.

        If there is room for all, the commonest comes first. If not, each slot goes to the colour
        that is missed most: common, and far from those that are in already. What moves is rare
        and would otherwise lose against shades of the background.
        """
        keys, counts = np.unique(_pack_numpy(frames), return_counts=True)
        size = int(self.size.numpy())
        known = _pack_numpy(self.colours.numpy()[:size])
        is_new = ~np.isin(keys, known)
        room = self.capacity - size
        order = _order_of_need(keys[is_new], counts[is_new], known, room, self.channels)
        keys_new, counts_new = keys[is_new][order], counts[is_new][order]
        self._assign(np.concatenate([known, keys_new[:room]]))
        return PaletteUpdate(
            added=len(keys_new[:room]),
            rejected=len(keys_new[room:]),
            rejected_pixels=int(counts_new[room:].sum()),
            pixels=int(counts.sum()),
        )

    def encode(self, frames: tf.Tensor) -> tf.Tensor:
        """Maps uint8 frames [..., C] to int32 slots [...]; unknown colours to the nearest."""
        if self.channels > 1:
            return self._search(frames)
        # There are only 256 greys: search for each of them once, and look all pixels up.
        return tf.gather(self._search(_GREYS), tf.cast(frames[..., 0], tf.int32))

    def _search(self, frames: tf.Tensor) -> tf.Tensor:
        """As `encode`, pixel by pixel."""
        keys = _pack(frames)
        positions = self._positions(keys)
        slots = tf.gather(self._sorted_slots, positions)
        known = tf.gather(self._sorted_keys, positions) == keys
        return tf.cond(
            tf.reduce_all(known),
            lambda: slots,
            lambda: tf.where(known, slots, self._nearest(frames)),
        )

    def decode(self, slots: tf.Tensor) -> tf.Tensor:
        """Maps int32 slots [...] to uint8 frames [..., C]."""
        return tf.cast(tf.gather(self.colours, slots), tf.uint8)

    def snap(self, frames: tf.Tensor) -> tf.Tensor:
        """Replaces the colours of uint8 frames [..., C] by the nearest in the palette."""
        if self.channels > 1:
            return self.decode(self._search(frames))
        snapped = self.decode(self._search(_GREYS))
        return tf.gather(snapped, tf.cast(frames[..., 0], tf.int32))

    def represents(self, frames: tf.Tensor) -> tf.Tensor:
        """Tells for every pixel [...] whether its colour is in the palette."""
        keys = _pack(frames)
        return tf.gather(self._sorted_keys, self._positions(keys)) == keys

    def _positions(self, keys: tf.Tensor) -> tf.Tensor:
        found = tf.searchsorted(self._sorted_keys, tf.reshape(keys, [-1]))
        return tf.reshape(tf.minimum(found, self.capacity - 1), tf.shape(keys))

    def _nearest(self, frames: tf.Tensor) -> tf.Tensor:
        """Returns the slot of the smallest squared distance, [...]."""
        pixels = tf.reshape(tf.cast(frames, tf.float32), [-1, self.channels])
        colours = tf.cast(self.colours, tf.float32)
        # |p - c|^2 without the term that is the same for every colour.
        distances = tf.reduce_sum(colours**2, -1) - 2.0 * tf.matmul(
            pixels, colours, transpose_b=True
        )
        filled = tf.range(self.capacity) < self.size
        slots = tf.argmin(tf.where(filled, distances, np.inf), axis=-1, output_type=tf.int32)
        return tf.reshape(slots, tf.shape(frames)[:-1])

    def _assign(self, keys: np.ndarray) -> None:
        """Stores the colours with these packed keys in slots 0, 1, ..."""
        size = len(keys)
        colours = np.zeros((self.capacity, self.channels), np.int32)
        colours[:size] = _unpack_numpy(keys, self.channels)
        padded = np.full(self.capacity, _EMPTY, np.int64)
        padded[:size] = keys
        order = np.argsort(padded, kind="stable")
        self.size.assign(size)
        self.colours.assign(colours)
        self._sorted_keys.assign(padded[order].astype(np.int32))
        self._sorted_slots.assign(order.astype(np.int32))

    def _table(self, name: str, values: np.ndarray) -> tf.Variable:
        return tf.Variable(values, trainable=False, dtype=tf.int32, name=f"palette/{name}")


def _order_of_need(
    keys: np.ndarray, counts: np.ndarray, known: np.ndarray, room: int, channels: int
) -> np.ndarray:
    """Orders new colours: the ones to take first, then the others; int64 [N]."""
    if len(keys) <= room:
        return np.argsort(-counts, kind="stable")
    colours = _unpack_numpy(keys, channels).astype(np.float64)
    # The square root: half-way between "every pixel counts" and "every colour counts".
    needs, distances = np.sqrt(counts), np.full(len(keys), np.inf)
    for colour in _unpack_numpy(known, channels):
        distances = np.minimum(distances, ((colours - colour) ** 2).sum(axis=-1))
    chosen: list[int] = []
    for _ in range(room):
        # Before the first, all are infinitely far: the commonest.
        reach = np.where(np.isinf(distances), 255.0**2 * channels, distances)
        chosen.append(int(np.argmax(needs * reach)))
        nearest = ((colours - colours[chosen[-1]]) ** 2).sum(axis=-1)
        distances = np.minimum(distances, nearest)
    rest = np.setdiff1d(np.arange(len(keys)), chosen)
    return np.concatenate([np.array(chosen, np.int64), rest])


def _pack(frames: tf.Tensor) -> tf.Tensor:
    """Packs the channels of uint8 [..., C] into one int32 [...]."""
    keys = tf.zeros(tf.shape(frames)[:-1], tf.int32)
    for channel in range(frames.shape[-1]):
        keys = keys * 256 + tf.cast(frames[..., channel], tf.int32)
    return keys


def _pack_numpy(frames: np.ndarray) -> np.ndarray:
    keys = np.zeros(frames.shape[:-1], np.int64)
    for channel in range(frames.shape[-1]):
        keys = keys * 256 + frames[..., channel]
    return keys.reshape(-1)


def _unpack_numpy(keys: np.ndarray, channels: int) -> np.ndarray:
    shifts = [8 * (channels - 1 - c) for c in range(channels)]
    return np.stack([(keys >> shift) & 255 for shift in shifts], axis=-1)
