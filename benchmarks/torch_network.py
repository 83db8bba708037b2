r"""The paper's stochastic-discrete network in plain PyTorch, as an outside reference for speed.

    python benchmarks/torch_network.py --hidden_size=96   # then: step or train, line by line

Written from the paper's description, with the sizes of `gin/sd.gin`; other implementations of
SimPLe in PyTorch have the same ones (hidden size 96, 128 bits, 4 windows to train on, 16 games to
simulate; they halve five times, the paper's code six times, as here). It needs PyTorch, and neither
TensorFlow nor simple_tf: `torch_reference.py` starts it, maybe with another interpreter, and asks
for one call after the other on its standard input. Every line is answered with the seconds taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional

_FRAME = (3, 105, 80)
_COLOURS = 256
_STACK = 4
_ACTIONS = 6
_REWARDS = 3
_HALVINGS, _DOUBLINGS = 6, 3
_BITS, _CHUNK_BITS, _UNITS = 128, 8, 128
_CHUNKS, _CHUNK_VALUES = _BITS // _CHUNK_BITS, 2**_CHUNK_BITS
_POSTERIOR = (128, 512)
_HEADS = 4
_TARGETS = 6
_CLIP = 0.03


def position_signal(channels: int, height: int, width: int) -> torch.Tensor:
    """Sines and cosines of rows and columns, [1, channels, height, width]."""
    scales = channels // 4
    inverse = torch.exp(-torch.arange(scales) * np.log(1e4) / max(scales - 1, 1))
    signal = torch.zeros(1, channels, height, width)
    for axis, length in enumerate((height, width)):
        phase = inverse[:, None] * torch.arange(length)
        waves = torch.cat([phase.sin(), phase.cos()])  # [2 scales, length]
        first = axis * 2 * scales
        rows = waves[:, :, None] if axis == 0 else waves[:, None, :]
        signal[0, first : first + 2 * scales] += rows
    return signal


class ScaleShift(nn.Module):
    """Injects a vector into every position."""

    def __init__(self, channels: int, condition: int) -> None:
        super().__init__()
        self.both = nn.Linear(condition, 2 * channels)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        scale, shift = self.both(condition)[:, :, None, None].chunk(2, dim=1)
        return x * torch.sigmoid(scale) + shift


class ChannelNorm(nn.LayerNorm):
    """Layer normalisation over the channels of [B, C, H, W]."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Down(nn.Module):
    """Halves an image, rounding up."""

    def __init__(self, size: tuple[int, int], inputs: int, outputs: int) -> None:
        super().__init__()
        self.padding = (0, size[1] % 2, 0, size[0] % 2)
        height, width = size[0] + size[0] % 2, size[1] + size[1] % 2
        self.register_buffer("position", position_signal(inputs, height, width))
        self.conv = nn.Conv2d(inputs, outputs, 4, 2, 1)
        self.norm = ChannelNorm(outputs, eps=1e-6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(
            functional.relu(self.conv(functional.pad(x, self.padding) + self.position))
        )


class Up(nn.Module):
    """Doubles an image to the size of the skip connection."""

    def __init__(self, size: tuple[int, int], inputs: int, outputs: int, condition: int) -> None:
        super().__init__()
        self.size = size
        self.action = ScaleShift(inputs, condition)
        self.conv = nn.ConvTranspose2d(inputs, outputs, 4, 2, 1)
        self.norm = ChannelNorm(outputs, eps=1e-6)
        self.register_buffer("position", position_signal(outputs, *size))

    def forward(self, x: torch.Tensor, skip: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.conv(self.action(x, action)))
        y = y[:, :, : self.size[0], : self.size[1]]
        return self.norm(y + skip) + self.position


class AttentionPool(nn.Module):
    """Pools positions by the mean and by four attention heads."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.attention = nn.Linear(channels, _HEADS)
        self.output = nn.Linear((_HEADS + 1) * channels, 2 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(2).transpose(1, 2)  # [B, positions, channels]
        weights = torch.softmax(self.attention(flat), dim=1)
        attended = weights.transpose(1, 2) @ flat / flat.shape[1]
        pooled = torch.cat([attended, flat.mean(1, keepdim=True)], dim=1)
        return self.output(pooled.flatten(1))


class Posterior(nn.Module):
    """Infers bits from the input frames and the target."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.embed = nn.Conv2d((_STACK + 1) * _FRAME[0], hidden, 1)
        self.register_buffer("position", position_signal(hidden, *_FRAME[1:]))
        self.action = ScaleShift(hidden, hidden)
        first, second = _POSTERIOR
        self.convs = nn.ModuleList(
            [nn.Conv2d(hidden, first, 8, 4, 4), nn.Conv2d(first, second, 8, 4, 4)]
        )
        self.pools = nn.ModuleList([AttentionPool(first), AttentionPool(second)])
        self.bits = nn.Linear(2 * (first + second), _BITS)

    def forward(self, frames: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        x = self.action(self.embed(frames) + self.position, action)
        first = self.convs[0](x)
        second = self.convs[1](functional.relu(first))
        return self.bits(torch.cat([self.pools[0](first), self.pools[1](second)], dim=1))


class BitPredictor(nn.Module):
    """Predicts the bits, eight at a time, with an LSTM."""

    def __init__(self, source: int) -> None:
        super().__init__()
        self.first = nn.Linear(source, 3 * _UNITS)
        self.lstm = nn.LSTMCell(_UNITS, _UNITS)
        self.logits = nn.Linear(_UNITS, _CHUNK_VALUES)
        self.embed = nn.Embedding(_CHUNK_VALUES, _UNITS)

    def sample(self, source: torch.Tensor) -> torch.Tensor:
        """Draws bits of -1 and 1, [B, 128]."""
        inputs, cell, output = self.first(source).chunk(3, dim=1)
        chunks = []
        for _ in range(_CHUNKS):
            output, cell = self.lstm(inputs, (output, cell))
            chunks.append(torch.multinomial(torch.softmax(self.logits(output), 1), 1)[:, 0])
            inputs = self.embed(chunks[-1])
        places = torch.arange(_CHUNK_BITS)
        bits = (torch.stack(chunks, 1)[:, :, None] >> places) & 1
        return 2.0 * bits.flatten(1) - 1.0

    def loss(self, source: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy per chunk under the true bits."""
        ones = (bits > 0).long().view(-1, _CHUNKS, _CHUNK_BITS)
        targets = (ones << torch.arange(_CHUNK_BITS)).sum(-1)
        inputs, cell, output = self.first(source).chunk(3, dim=1)
        outputs = []
        for chunk in range(_CHUNKS):
            output, cell = self.lstm(inputs, (output, cell))
            outputs.append(output)
            inputs = self.embed(targets[:, chunk])
        logits = self.logits(torch.stack(outputs, 1))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Network(nn.Module):
    """Four frames, an action and 128 bits give the next frame and the reward.

    Args:
        hidden: channels at full resolution.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        sizes = [_FRAME[1:]]
        for _ in range(_HALVINGS):
            sizes.append(((sizes[-1][0] + 1) // 2, (sizes[-1][1] + 1) // 2))
        channels = [hidden * 2 ** min(level, _DOUBLINGS) for level in range(_HALVINGS + 1)]
        bottom, levels = channels[-1], range(_HALVINGS)
        self.actions = nn.Embedding(_ACTIONS, hidden)
        self.embed = nn.Conv2d(_STACK * _FRAME[0], hidden, 1)
        self.register_buffer("position", position_signal(hidden, *_FRAME[1:]))
        self.down = nn.ModuleList([Down(sizes[i], channels[i], channels[i + 1]) for i in levels])
        self.action = ScaleShift(bottom, hidden)
        self.posterior = Posterior(hidden)
        self.predictor = BitPredictor(bottom * sizes[-1][0] * sizes[-1][1])
        self.inject = ScaleShift(bottom, _BITS)
        self.middle = nn.ModuleList([nn.Conv2d(bottom, bottom, 3, 1, 1) for _ in range(2)])
        self.middle_norm = ChannelNorm(bottom, eps=1e-6)
        self.up = nn.ModuleList(
            [Up(sizes[i], channels[i + 1], channels[i], hidden) for i in reversed(levels)]
        )
        self.outputs = nn.Conv2d(hidden, _FRAME[0] * _COLOURS, 1)
        self.reward = nn.Sequential(
            nn.Linear(bottom + hidden, 128), nn.ReLU(), nn.Linear(128, _REWARDS, bias=False)
        )

    def forward(
        self, frames: torch.Tensor, actions: torch.Tensor, target: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """One step.

        Args:
            frames: uint8 [B, 4, 3, H, W].
            actions: int64 [B].
            target: uint8 [B, 3, H, W] in training.

        Returns:
            Colour logits [B, 256, 3, H, W], reward logits [B, 3], and the bit predictor's loss.
        """
        action, stacked = self.actions(actions), standardised(frames).flatten(1, 2)
        x, skips = self.embed(stacked) + self.position, []
        for step in self.down:
            skips.append(x)
            x = step(functional.dropout(x, 0.15, self.training))
        bottom = self.action(x, action)
        bits, loss = self._bits(bottom.flatten(1), stacked, target, action)
        bottom = self.inject(bottom, bits)
        x = functional.relu(self.middle[0](functional.dropout(bottom, 0.5, self.training)))
        y = functional.relu(self.middle[1](functional.dropout(x, 0.5, self.training)))
        x = self.middle_norm(x + y)
        for step, skip in zip(self.up, reversed(skips), strict=True):
            x = step(functional.dropout(x, 0.15, self.training), skip, action)
        means = torch.cat([bottom.mean((2, 3)), x.mean((2, 3))], dim=1)
        colours = self.outputs(x).view(-1, _COLOURS, *_FRAME)
        return colours, self.reward(means), loss

    def _bits(
        self,
        source: torch.Tensor,
        stacked: torch.Tensor,
        target: torch.Tensor | None,
        action: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if target is None:
            return self.predictor.sample(source), torch.zeros(())
        logits = self.posterior(torch.cat([stacked, standardised(target)], 1), action)
        soft = torch.tanh(logits + 0.2 * torch.randn_like(logits))
        hard = soft + (torch.sign(soft) - soft).detach()
        hard = torch.where(torch.rand_like(hard) < 0.1, -hard, hard)
        # As late in training: half of the bits are predicted ones.
        with torch.no_grad():
            predicted = self.predictor.sample(source)
        bits = torch.where(torch.rand_like(hard) < 0.5, predicted, hard)
        return bits, self.predictor.loss(source, logits.detach())


def standardised(frames: torch.Tensor) -> torch.Tensor:
    """Every image and channel with mean 0 and deviation 1."""
    x = frames.float()
    x = x - x.mean((-2, -1), keepdim=True)
    floor = (x.shape[-1] * x.shape[-2]) ** -0.5
    return x / x.square().mean((-2, -1), keepdim=True).sqrt().clamp(min=floor)


def step_call(hidden: int, batch: int, channels_last: bool) -> Callable[[], object]:
    """One dreamed step of a batch of games."""
    network = _network(hidden, channels_last).eval()
    frames = torch.randint(0, _COLOURS, (batch, _STACK, *_FRAME), dtype=torch.uint8)
    actions = torch.zeros(batch, dtype=torch.long)

    @torch.inference_mode()
    def step() -> tuple[torch.Tensor, torch.Tensor]:
        colours, reward, _ = network(frames, actions)
        return colours.argmax(1).to(torch.uint8), reward.argmax(1)

    return step


def train_call(hidden: int, batch: int, channels_last: bool) -> Callable[[], object]:
    """One training step on a batch of windows, its own predictions as inputs."""
    network = _network(hidden, channels_last).train()
    optimizer = torch.optim.Adafactor(network.parameters(), lr=1e-3)
    window = torch.randint(0, _COLOURS, (batch, _STACK + _TARGETS, *_FRAME), dtype=torch.uint8)
    actions = torch.zeros(batch, dtype=torch.long)
    rewards = torch.ones(batch, dtype=torch.long)

    def train() -> float:
        seen, total = window[:, :_STACK], torch.zeros(())
        for t in range(_TARGETS):
            target = window[:, _STACK + t]
            colours, reward, bit_loss = network(seen, actions, target)
            pixels = functional.cross_entropy(colours, target.long(), reduction="none")
            total = total + pixels.clamp(min=_CLIP).mean() + bit_loss
            total = total + functional.cross_entropy(reward, rewards)
            shown = colours.detach().argmax(1).to(torch.uint8)
            seen = torch.cat([seen[:, 1:], shown[:, None]], dim=1)
        optimizer.zero_grad()
        (total / _TARGETS).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        return float(total.detach())

    return train


def _network(hidden: int, channels_last: bool) -> nn.Module:
    torch.manual_seed(0)
    network = Network(hidden)
    return network.to(memory_format=torch.channels_last) if channels_last else network


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden_size", type=int, default=96)
    parser.add_argument("--step_batch", type=int, default=16)
    parser.add_argument("--train_batch", type=int, default=4)
    parser.add_argument("--channels_last", action="store_true")
    options = parser.parse_args()
    makers = {"step": (step_call, options.step_batch), "train": (train_call, options.train_batch)}
    calls: dict[str, Callable[[], object]] = {}
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    for line in sys.stdin:
        name = line.strip()
        if name not in calls:
            make, batch = makers[name]
            calls[name] = make(options.hidden_size, batch, options.channels_last)
        begin = time.perf_counter()
        calls[name]()
        print(time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
