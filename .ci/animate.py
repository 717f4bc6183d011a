"""Join the pictures of a folder, in the order of their names, into an animation: animate.py FOLDER TARGET.webp."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

SHOWN_MS, LAST_MS = 2500, 5000


def main() -> int:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    frames = [Image.open(path).convert("RGB") for path in sorted(folder.glob("[0-9]*.png"))]
    if not frames:
        print(f"agent-ls: no pictures in {folder}", file=sys.stderr)
        return 1
    durations = [SHOWN_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(
        target, save_all=True, append_images=frames[1:], duration=durations, loop=0, lossless=True, method=6
    )
    print(f"wrote {target}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
