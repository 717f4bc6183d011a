"""Join the pictures of the VS Code chat into one per theme, in tests/editors/pictures: each state at three widths.

Usage: .venv-docs/bin/python .ci/chat_pictures.py, after `make test-editors` has made the pictures in
build/screenshots. Needs Pillow, which is installed in .venv-docs.
"""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parents[1]
MADE = ROOT / "build" / "screenshots"
KEPT = ROOT / "tests" / "editors" / "pictures"
NAME = re.compile(r"(\d+)-(.+)-(High-Contrast-Light|High-Contrast|Light-Modern|Dark-Modern)-(\d+)")
ACTIVITY_BAR = 55  # pixels, to the left of the chat
SCALE = 0.75
STATES_PER_ROW = 4
GAP, TITLE = 8, 20
BACKGROUND = "#888"


def main() -> None:
    """Write one picture for each theme."""
    themes: dict[str, dict[str, dict[int, Path]]] = {}
    for path in sorted(MADE.glob("chat_*/*.png"), key=_number):
        if found := NAME.fullmatch(path.stem):
            themes.setdefault(found[3], {}).setdefault(found[2], {})[int(found[4])] = path
    KEPT.mkdir(exist_ok=True)
    for theme, states in themes.items():
        rows = [_state(state.replace("-", " "), paths) for state, paths in states.items()]
        sheet = _stack([_line(rows[at : at + STATES_PER_ROW]) for at in range(0, len(rows), STATES_PER_ROW)])
        sheet.save(KEPT / f"chat-{theme.lower()}.webp", quality=60, method=6)


def _number(path: Path) -> int:
    return int(path.stem.split("-")[0])


def _state(title: str, paths: dict[int, Path]) -> Image.Image:
    """Return the chat of one state at each width, below the name of the state."""
    shots = [Image.open(path).convert("RGB") for path in paths.values()]
    chats = [
        shot.crop((0, 0, width + ACTIVITY_BAR, shot.height)) for width, shot in zip(paths, shots, strict=True)
    ]
    small = [chat.resize((int(chat.width * SCALE), int(chat.height * SCALE))) for chat in chats]
    joined = _line(small)
    framed = Image.new("RGB", (joined.width, joined.height + TITLE), BACKGROUND)
    ImageDraw.Draw(framed).text((4, 4), title, fill="white")
    framed.paste(joined, (0, TITLE))
    return framed


def _line(images: list[Image.Image]) -> Image.Image:
    line = Image.new(
        "RGB", (sum(it.width + GAP for it in images), max(it.height for it in images)), BACKGROUND
    )
    at = 0
    for image in images:
        line.paste(image, (at, 0))
        at += image.width + GAP
    return line


def _stack(images: list[Image.Image]) -> Image.Image:
    stack = Image.new(
        "RGB", (max(it.width for it in images), sum(it.height + GAP for it in images)), BACKGROUND
    )
    at = 0
    for image in images:
        stack.paste(image, (0, at))
        at += image.height + GAP
    return stack


if __name__ == "__main__":
    main()
