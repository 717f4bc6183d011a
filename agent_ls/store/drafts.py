"""The text that a user is writing in a session but has not sent, stored next to the log. Blocks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from agent_ls.loop.calls.redaction import redact_line
from agent_ls.store.layout import draft_path
from agent_ls.system import replace_file


def keep_draft(folder: Path, draft: Mapping[str, Any], known: Collection[str] = ()) -> None:
    """Store a draft atomically, without the secret keys in `known`. For an empty
    draft (no field has a value), delete the stored draft instead.

    Raises:
        OSError: the file cannot be written, or the session's folder does not exist.
    """
    path = draft_path(folder)
    if not any(draft.values()):
        path.unlink(missing_ok=True)
        return
    replace_file(path, redact_line(json.dumps(draft, ensure_ascii=False).encode("utf-8", "replace"), known))


def read_draft(folder: Path) -> dict[str, Any] | None:
    """Return the stored draft; None if no draft is stored or the file cannot be read."""
    try:
        draft = json.loads(draft_path(folder).read_bytes())
    except (OSError, ValueError):
        return None
    return draft if isinstance(draft, dict) else None
