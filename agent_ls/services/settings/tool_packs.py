"""Read a list of tool packs as given on a command line: a preset, packs and `detected`, separated by commas."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import PACK_NAMES, PRESET_NAMES

DETECTED = "detected"


def pack_settings(text: str, source: str) -> Iterator[str]:
    """Yield the settings, as `name=value`, for a list of packs. `source` names the list in messages.

    Raises:
        BadChoiceError: a name is unknown, or there is a second preset.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    presets = [name for name in names if name in PRESET_NAMES]
    packs = [name for name in names if name in PACK_NAMES]
    unknown = [name for name in names if name not in (*PRESET_NAMES, *PACK_NAMES, DETECTED)]
    if unknown or len(presets) > 1:
        problem = f"{unknown[0]!r} is neither a preset nor a pack" if unknown else "give one preset only"
        hint = f"presets: {', '.join(PRESET_NAMES)}; packs: {', '.join(PACK_NAMES)}; or {DETECTED}"
        raise BadChoiceError(f"{source}: {problem}", hint)
    if presets:
        yield f"toolPacks.preset={presets[0]}"
    if packs:
        yield f"toolPacks.packs={json.dumps(packs)}"
    if DETECTED in names:
        yield "toolPacks.detect=true"
