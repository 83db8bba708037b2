"""The ring game of `tiny_games` as a world model with chosen faults, and a policy that knows it."""

import numpy as np
import tensorflow as tf

from simple_tf.models.interface import Prediction, WorldModel

SHAPE = (12, 16, 3)
COLUMNS = 16
STACK = 4
DISCOUNT = 0.9


class Pixels:
    """A head whose outputs are the pixel values themselves."""

    num_outputs = SHAPE[2]

    def loss(self, outputs, frames):
        raise NotImplementedError

    def decode(self, outputs):
        return tf.cast(outputs, tf.uint8)


class RingModel(WorldModel):
    """Predicts the ring game.

    Args:
        moves: whether its dot moves; or it stays where it was, and rewards are right even so.
        pays: how it gives rewards: "right", "never", or "late" by one step.
        dims: the dot loses this share of its brightness in every step.
    """

    def __init__(self, moves=True, pays="right", dims=0.0):
        super().__init__(SHAPE, 2, STACK, 3, Pixels(), "ring")
        self.moves, self.pays, self.dims = moves, pays, dims

    def initial_state(self, frames, actions, seed=(0, 0), ages=None):
        self.check_history(frames)
        newest = tf.cast(tf.argmax(frames[:, -1, 5, :, 0], axis=-1), tf.int32)
        return newest, tf.zeros_like(newest), tf.ones(newest.shape)

    def step(self, state, frames, action, seed):
        column, last_reward, brightness = state
        unwrapped = column + 2 * action - 1
        reward = tf.where(unwrapped >= COLUMNS, 1, tf.where(unwrapped < 0, -1, 0))
        brightness = brightness * (1.0 - self.dims)
        given = {"right": reward, "never": 0 * reward, "late": last_reward}[self.pays]
        shown = unwrapped % COLUMNS if self.moves else tf.argmax(frames[:, -1, 5, :, 0], axis=-1)
        dot = tf.one_hot(shown, COLUMNS) * 255.0 * brightness[:, None]  # [B, W]
        row = tf.reshape(tf.one_hot([4, 5, 6, 7], SHAPE[0]), [1, 4, SHAPE[0], 1])
        image = tf.reduce_sum(row, axis=1) * dot[:, None]  # [B, H, W]
        outputs = tf.repeat(image[..., None], 3, axis=-1)
        logits = 20.0 * tf.one_hot(given + 1, 3)
        return Prediction((unwrapped % COLUMNS, reward, brightness), outputs, logits)

    def window_losses(self, *args, **kwargs):
        raise NotImplementedError


class RingPolicy(tf.keras.Model):
    """Goes right with a fixed probability, and knows what that is worth.

    Args:
        right: the probability.
        error: added to its values.
    """

    def __init__(self, right=0.8, error=0.0):
        super().__init__()
        self._logits = tf.math.log([[1.0 - right, right]])
        self._values = tf.constant(ring_values(right) + error, tf.float32)

    def call(self, observations, iteration=-1):
        column = tf.argmax(observations[:, -1, 5, :, 0], axis=-1)
        return tf.repeat(self._logits, tf.shape(observations)[0], 0), tf.gather(
            self._values, column
        )


def ring_values(right):
    """The discounted rewards to come from each column, float64 [16], by solving for them."""
    step = np.roll(np.eye(COLUMNS), 1, axis=1)
    transitions = right * step + (1 - right) * step.T
    rewards = np.zeros(COLUMNS)
    rewards[-1], rewards[0] = right, -(1 - right)
    return np.linalg.solve(np.eye(COLUMNS) - DISCOUNT * transitions, rewards)
