"""Writes `docs/images/dreams.gif`, the README's picture, from the videos of recorded runs.

    python docs/images/make_dreams.py

One column for each game. Above, what the policy plays; below, what the world model dreams from the
real frames at the beginning of each clip, and what the game showed under the same actions.
"""

from __future__ import annotations

from pathlib import Path

import imageio.v3 as imageio
import numpy as np
from PIL import Image

from simple_tf.evaluation.panes import BACKGROUND
from simple_tf.evaluation.pixel_font import GLYPH_HEIGHT, Colour, draw_text, text_width

ROOT = Path(__file__).resolve().parent.parent.parent
GAMES = (
    "freeway",
    "kung_fu_master",
    "pong",
    "breakout",
    "crazy_climber",
    "road_runner",
    "boxing",
)
ROWS = (
    "the policy in the real game",
    "what the world model dreams",
    "what the game shows under the same actions",
)

# Of `world_model.mp4` (model and real game, frames four times as large, below a line of text) and
# of `final_median_episode.mp4` (the screen twice as large, below a line of text).
MODEL = (slice(None), slice(26, 234), slice(8, 168))
REAL = (slice(None), slice(26, 234), slice(176, 336))
PLAY = (slice(None), slice(32, 452), slice(0, 320))
FIRST_STEP = 60  # By then every game has begun.
# Three rollouts: 26 frames each, and dark ones between them, which are left out.
ROLLOUT, PAUSE = 26, 5
MOMENTS = [rollout * (ROLLOUT + PAUSE) + step for rollout in range(3) for step in range(ROLLOUT)]

WIDTH, HEIGHT, GAP = 120, 157, 6
TEXT_SCALE = 2
LINE = GLYPH_HEIGHT * TEXT_SCALE + 2 * GAP
WHITE: Colour = (230, 230, 230)
SECONDS_PER_FRAME = 0.1


def main() -> None:
    """Writes the picture."""
    columns = [_clips(ROOT / "results" / f"{game}-cpu-0" / "videos") for game in GAMES]
    images = [
        _image([[clip[i] for clip in column] for column in columns]) for i in range(len(MOMENTS))
    ]
    target = Path(__file__).with_name("dreams.gif")
    imageio.imwrite(target, np.stack(images), duration=1000 * SECONDS_PER_FRAME, loop=0)
    print(f"{target}: {len(images)} frames, {target.stat().st_size / 1e6:.1f} MB")


def _clips(videos: Path) -> list[list[np.ndarray]]:
    """Returns a run's three clips, one for each row."""
    model = imageio.imread(videos / "world_model.mp4", plugin="FFMPEG")[MOMENTS]
    play = imageio.imread(videos / "final_median_episode.mp4", plugin="FFMPEG")
    play = play[FIRST_STEP : FIRST_STEP + len(model)]
    return [[_resized(image) for image in clip] for clip in (play[PLAY], model[MODEL], model[REAL])]


def _resized(image: np.ndarray) -> np.ndarray:
    """Averages the areas that pixels cover; uint8 [HEIGHT, WIDTH, 3].

    In steps of 8: a GIF would spend most of its bytes on the noise of compressed videos.
    """
    resized = Image.fromarray(image).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    return np.asarray(resized) // 8 * 8


def _image(columns: list[list[np.ndarray]]) -> np.ndarray:
    """Puts the panes of one moment together, columns of rows."""
    width = len(columns) * (WIDTH + GAP) + GAP
    image = np.full((LINE + len(ROWS) * (LINE + HEIGHT) + GAP, width, 3), BACKGROUND, np.uint8)
    for row, title in enumerate(ROWS):
        top = LINE + row * (LINE + HEIGHT)
        draw_text(image, title, top + GAP, GAP, WHITE, TEXT_SCALE)
        for column, panes in enumerate(columns):
            left = GAP + column * (WIDTH + GAP)
            image[top + LINE : top + LINE + HEIGHT, left : left + WIDTH] = panes[row]
    for column, game in enumerate(GAMES):
        name = game.replace("_", " ")
        left = GAP + column * (WIDTH + GAP) + (WIDTH - text_width(name, TEXT_SCALE)) // 2
        draw_text(image, name, GAP, left, WHITE, TEXT_SCALE)
    return image


if __name__ == "__main__":
    main()
