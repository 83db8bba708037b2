"""Accelerators by name, and how long a given amount of arithmetic would take on them.

Projections: none of them has been measured here. Peaks are the makers' numbers for dense
arithmetic; the share of it that is reached is an assumption, see docs/scaling.md.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Accelerator:
    """One device, or the devices of one host that a single run uses.

    Attributes:
        name: as the maker calls it.
        arithmetic: the kind of numbers that is multiplied.
        peak: operations per second at best.
        share: of the peak that is assumed to be reached.
        memory_gb: of all its devices.
    """

    name: str
    arithmetic: str
    peak: float
    share: float
    memory_gb: int

    def seconds(self, flops: float) -> float:
        """Of so much arithmetic."""
        return flops / (self.peak * self.share)


# The shares are assumed: a third of the float32 peak of older GPUs, less where arithmetic is fast
# compared with memory, because batches are small and the outer layers have few channels.
ACCELERATORS = (
    Accelerator("NVIDIA T4", "float32", 8.1e12, 0.35, 16),
    Accelerator("NVIDIA V100", "float32", 15.7e12, 0.35, 16),
    Accelerator("NVIDIA L4", "float32", 30.3e12, 0.25, 24),
    Accelerator("NVIDIA RTX 4090", "float32", 82.6e12, 0.25, 24),
    Accelerator("NVIDIA A100", "TF32", 156e12, 0.15, 40),
    Accelerator("NVIDIA H100", "TF32", 495e12, 0.10, 80),
    # Each of the 8 cores has one window of a batch of 8, and 2 of 16 rollouts.
    Accelerator("TPU v2-8", "bfloat16", 180e12, 0.05, 64),
    Accelerator("TPU v3-8", "bfloat16", 492e12, 0.05, 128),
    Accelerator("TPU v4-8", "bfloat16", 1100e12, 0.04, 128),
    Accelerator("TPU v5e-8", "bfloat16", 1576e12, 0.03, 128),
)
