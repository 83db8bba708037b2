"""A world model for two CPU cores: all work at the resolution of patches.

A full-resolution decoder spends most of its time on pixels that do not change. This model cuts
the frames into patches, computes on these, and starts from the prediction that nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gin
import numpy as np
import tensorflow as tf

from simple_tf.data.reward_ages import age_after, ages_along, ages_or_long_ago
from simple_tf.frame_normaliser import FrameNormaliser
from simple_tf.models.heads import FrameHead, PaletteHead
from simple_tf.models.interface import Prediction, State, WindowLosses, WorldModel
from simple_tf.models.motion import go_on_moving
from simple_tf.models.noise import Noise, StatelessNoise
from simple_tf.models.patch_layers import BLOCKS, SUMMARIES, PatchSize
from simple_tf.models.patch_network import PatchNetwork
from simple_tf.models.patch_outputs import PalettePatchOutputs, PatchOutputs
from simple_tf.models.reward_loss import RewardLoss
from simple_tf.models.schedules import ScheduledSampling

# There is no Python control flow on tensors here, and converting the functions costs seconds.
without_autograph = tf.autograph.experimental.do_not_convert


@gin.configurable(denylist=["frame_shape", "num_actions", "head", "num_input_frames", "seed"])
class PatchModel(WorldModel):
    """Predicts the next frame from K stacked frames and the action, patch by patch.

    Args:
        frame_shape: (height, width, channels).
        num_actions: number of actions.
        head: meaning of the frame outputs.
        patch_size: side of a patch in pixels.
        hidden_size: channels per patch.
        block: kind of the residual blocks: "convolution", or "shift", which is faster on CPUs; see
            `patch_layers`.
        num_blocks: how many residual blocks.
        summary_units: width of each block's summary of the whole frame; 0: none.
        reward_reader: "whole": rewards are read from all positions at once, with weights of their
            own; "local": every position says for itself, with the same weights, and all add up.
        reward_units: width of the reward's hidden layer.
        copy_strength: see `PalettePatchOutputs`; other heads start from nothing.
        pixel_prior: see `PatchOutputs`.
        colour_spread: see `PalettePatchOutputs`.
        loss_patches: see `PalettePatchOutputs`.
        pixel_weight: factor of the frame loss; a frame is a mean over pixels of which few change,
            so that at 1 the reward loss outweighs what moves.
        reward_clip: cross-entropy below which a reward is good enough.
        reward_weights: factor of the reward loss by class of the true reward; all 1 by default.
        past_actions: whether the actions between the K frames are shown, too, and not only the
            newest: where a control has inertia, the frames alone do not tell what goes on moving.
        motion_radius: how many pixels something may move in a step, so that the model is shown, as
            one frame more, where it will be if it goes on, see `motion.go_on_moving`; 0: not shown.
        reward_ages: the model is told how many steps ago the last reward was, and this is how many
            ages it can tell apart, the last of which is that and all above; 0: it is not told.
            After a point games wait for longer than the frames show. In simulation the model
            counts for itself, from rewards that it draws as likely as it holds them.
        unusual_lead: see `PalettePatchOutputs`; other heads know nothing of it, and it changes
            nothing where pixels are drawn.
        draws_pixels: whether simulated frames are drawn from what the model expects, see
            `PalettePatchOutputs.drawn`; False: every pixel has its likeliest colour, so that what
            moves in a way that cannot be foreseen fades, unless it has a lead. Needs a palette.
        sampling: when predicted frames are fed back in training; default: always.
        num_input_frames: K.
        num_reward_classes: R.
        precision: Keras dtype policy: float32, mixed_bfloat16 or mixed_float16.
        seed: of the initial weights.
    """

    def __init__(
        self,
        frame_shape: tuple[int, int, int],
        num_actions: int,
        head: FrameHead,
        patch_size: int = 4,
        hidden_size: int = 32,
        block: str = "convolution",
        num_blocks: int = 2,
        summary_units: int = 64,
        reward_reader: str = "whole",
        reward_units: int = 64,
        copy_strength: float = 5.0,
        pixel_prior: bool = True,
        colour_spread: float = 0.0,
        loss_patches: int = 0,
        pixel_weight: float = 1.0,
        reward_clip: float = 0.01,
        reward_weights: Sequence[float] | None = None,
        past_actions: bool = False,
        motion_radius: int = 0,
        reward_ages: int = 0,
        unusual_lead: float = 0.0,
        draws_pixels: bool = False,
        sampling: ScheduledSampling | None = None,
        num_input_frames: int = 4,
        num_reward_classes: int = 3,
        precision: str = "float32",
        seed: int = 0,
    ) -> None:
        super().__init__(
            frame_shape, num_actions, num_input_frames, num_reward_classes, head, "patch"
        )
        if block not in BLOCKS:
            raise ValueError(f"PatchModel.block must be one of {', '.join(BLOCKS)}, not {block!r}.")
        if reward_reader not in SUMMARIES:
            choices = ", ".join(SUMMARIES)
            raise ValueError(
                f"PatchModel.reward_reader must be one of {choices}, not {reward_reader!r}."
            )
        if draws_pixels and not isinstance(head, PaletteHead):
            raise ValueError(
                "PatchModel.draws_pixels needs frames of a palette's colours: "
                "build_world_model.head = @palette_head."
            )
        self.sampling = sampling or ScheduledSampling("prediction")
        self.shown_actions = num_input_frames if past_actions else 1
        self.motion_radius = motion_radius
        self.draws_pixels = draws_pixels
        self.pixel_weight = pixel_weight
        self.reward_loss = RewardLoss(reward_clip, reward_weights, num_reward_classes)
        self.reward_ages = reward_ages
        policy = tf.keras.mixed_precision.Policy(precision)
        options: dict[str, Any] = {"dtype": policy, "seed": seed}
        self.normaliser = FrameNormaliser(frame_shape)
        self.size = size = PatchSize(frame_shape, patch_size)
        shown_frames = num_input_frames + bool(motion_radius)
        inputs = patch_size**2 * shown_frames * frame_shape[2]
        self.network = PatchNetwork(
            size,
            inputs=inputs,
            channels=hidden_size,
            num_actions=num_actions,
            shown_actions=self.shown_actions,
            reward_ages=reward_ages,
            block=block,
            num_blocks=num_blocks,
            summary_units=summary_units,
            reward_reader=reward_reader,
            reward_units=reward_units,
            num_reward_classes=num_reward_classes,
            name="network",
            **options,
        )
        self.outputs_layer = (
            PalettePatchOutputs(
                size,
                hidden_size,
                head,
                self.normaliser.background,
                pixel_prior=pixel_prior,
                copy_strength=copy_strength,
                colour_spread=colour_spread,
                loss_patches=loss_patches,
                motion=bool(motion_radius),
                unusual_lead=unusual_lead,
                name="outputs",
                **options,
            )
            if isinstance(head, PaletteHead)
            else PatchOutputs(size, hidden_size, head, pixel_prior, name="outputs", **options)
        )

    def decode(self, outputs: tf.Tensor) -> tf.Tensor:
        """See `WorldModel`; this model's outputs are in patches, see `patch_outputs.py`."""
        return self.outputs_layer.decode(outputs)

    def adapt(self, frames: np.ndarray) -> None:
        """Learns the game's usual image from uint8 frames [N, H, W, C]; see `FrameNormaliser`."""
        self.normaliser.adapt(frames)

    @without_autograph
    def initial_state(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        seed: tf.Tensor | tuple[int, int] = (0, 0),
        ages: tf.Tensor | None = None,
    ) -> State:
        """See `WorldModel`: past actions, int32 [B, K - 1], and ages [B], if it is shown them."""
        del seed
        self.check_history(frames)
        past = (self.check_actions(actions),) if self.shown_actions > 1 else ()
        return (*past, ages_or_long_ago(ages, frames)) if self.reward_ages else past

    @without_autograph
    def step(
        self, state: State, frames: tf.Tensor, action: tf.Tensor, seed: tf.Tensor | tuple[int, int]
    ) -> Prediction:
        """See `WorldModel`."""
        self.check_history(frames)
        shown, noise = self.check_actions(action)[:, None], StatelessNoise(seed)
        past: tuple[tf.Tensor, ...] = ()
        if self.shown_actions > 1:
            shown = tf.concat([state[0], shown], axis=1)
            past = (shown[:, 1:],)
        ages = state[-1] if self.reward_ages else None
        frames = self._as_shown(frames)
        features = self._features(frames, shown, ages)
        logits = self.network.reward_logits(features)
        if self.reward_ages:
            # Drawn, not the likeliest: a point of which only the time is unsure must not be lost.
            past = (*past, age_after(ages, noise.categorical(logits)))
        outputs = self.outputs_layer(features, frames)
        if self.draws_pixels:
            outputs = self.outputs_layer.drawn(outputs, noise)
        return Prediction(past, outputs, logits)

    @without_autograph
    def window_losses(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        reward_classes: tf.Tensor,
        global_step: tf.Tensor,
        noise: Noise,
        training: bool = True,
        ages: tf.Tensor | None = None,
    ) -> WindowLosses:
        """See `WorldModel`.

        What is fed back is a decoded frame, through which no gradient flows. So the frames that
        the model will see are made first, step by step; then all steps are one batch.
        """
        num_targets = self.check_window(frames, actions, reward_classes)
        known = self.num_input_frames
        actions = self._shown(self.check_actions(actions))
        classes = reward_classes[:, known - 1 :]
        ages = ages_along(ages_or_long_ago(ages, frames), reward_classes)[:, known - 1 : -1]
        seen = frames[:, :-1]
        if training and num_targets > 1 and self.sampling.mode != "ground_truth":
            seen = self._seen(frames, actions, ages, global_step, noise)
        stacks = tf.stack([seen[:, t : t + known] for t in range(num_targets)], axis=1)
        stacks, targets = self._as_shown(_merged(stacks)), _merged(frames[:, known:])
        features = self._features(stacks, _merged(actions), _merged(ages))
        if training:
            pixel = self.outputs_layer.training_loss(features, stacks, targets, noise.at(-1))
        else:
            pixel = self.outputs_layer.loss(self.outputs_layer(features, stacks), targets)
        logits = tf.reshape(
            self.network.reward_logits(features), [-1, num_targets, self.num_reward_classes]
        )
        pixel = tf.reduce_mean(tf.reshape(pixel, [-1, num_targets]), axis=1)
        zero = tf.zeros_like(pixel)
        return WindowLosses(
            pixel=pixel * self.pixel_weight,
            reward=self.reward_loss(logits, classes),
            latent=zero,
            context=zero,
            reward_logits=logits,
        )

    def _as_shown(self, frames: tf.Tensor) -> tf.Tensor:
        """Returns what the network is shown of frames [B, K, H, W, C].

        With a palette, in its colours: what it predicts has no others, so that it would otherwise
        learn from shades that it never meets in a simulation. Then, as one frame more, where motion
        leads, if that is shown, [B, K + 1, H, W, C]. What is usual keeps its own shades there, in
        training and in simulations alike.
        """
        if isinstance(self.head, PaletteHead):
            frames = self.head.palette.snap(frames)
        if not self.motion_radius:
            return frames
        usual = self.normaliser.background.read_value()
        guess = go_on_moving(frames[:, -1], frames[:, -2], usual, self.motion_radius)
        return tf.concat([frames, guess[:, None]], axis=1)

    def _features(
        self, frames: tf.Tensor, actions: tf.Tensor, ages: tf.Tensor | None = None
    ) -> tf.Tensor:
        """See `PatchNetwork.features`; of uint8 frames."""
        return self.network.features(self.normaliser(frames), actions, ages)

    def _shown(self, actions: tf.Tensor) -> tf.Tensor:
        """Returns what each step of windows is shown, [B, n, k], of actions [B, K + n - 1]."""
        known, shown = self.num_input_frames, self.shown_actions
        steps = range(known, actions.shape[1] + 1)
        return tf.stack([actions[:, end - shown : end] for end in steps], axis=1)

    def _seen(
        self,
        frames: tf.Tensor,
        actions: tf.Tensor,
        ages: tf.Tensor,
        global_step: tf.Tensor,
        noise: Noise,
    ) -> tf.Tensor:
        """Returns the frames shown in training, uint8 [B, K + n - 1, H, W, C].

        Args:
            frames: the true ones, [B, K + n, H, W, C].
            actions: [B, n, k], those shown at the frames from the K-th on.
            ages: [B, n], of the last reward at the frames from the K-th on.
            global_step: for the schedule.
            noise: decides which predictions are fed back.
        """
        known, count = self.num_input_frames, actions.shape[1] - 1
        truth = tf.transpose(frames[:, known : known + count], [1, 0, 2, 3, 4])
        by_time, ages = tf.transpose(actions, [1, 0, 2]), tf.transpose(ages)
        probability = self.sampling.probability(global_step)
        batch = tf.shape(actions)[:1]

        def advance(t: tf.Tensor, history: tf.Tensor, fed: Any) -> tuple[Any, ...]:
            shown = self._as_shown(history)
            outputs = self.outputs_layer(self._features(shown, by_time[t], ages[t]), shown)
            use = (noise.at(t).uniform(batch) > 1.0 - probability)[:, None, None, None]
            newest = tf.where(use, self.decode(outputs), truth[t])
            history = tf.concat([history[:, 1:], newest[:, None]], axis=1)
            return t + 1, history, fed.write(t, newest)

        *_, fed = tf.while_loop(
            lambda t, *_: t < count,
            advance,
            (
                tf.constant(0),
                frames[:, :known],
                tf.TensorArray(tf.uint8, count, element_shape=truth.shape[1:]),
            ),
            maximum_iterations=count,
        )
        return tf.concat([frames[:, :known], tf.transpose(fed.stack(), [1, 0, 2, 3, 4])], axis=1)


def _merged(x: tf.Tensor) -> tf.Tensor:
    """Merges the first two axes."""
    return tf.reshape(x, [-1, *x.shape[2:]])
