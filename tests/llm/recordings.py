"""Recorded traffic of the real services, if it is next to the repository; it is never copied into it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "wire"

NEEDS_RECORDINGS = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the recordings are not beside the repository"
)


def recordings(providers: Collection[str], *kinds: str) -> list[Any]:
    """Return the manifest's entries of these providers and kinds, as parameters of a test."""
    if not FOLDER.is_dir():
        return []
    files = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["files"]
    return [pytest.param(f, id=f["id"]) for f in files if f["provider"] in providers and f["kind"] in kinds]


def wire_bytes(entry: dict[str, Any]) -> bytes:
    """Return the recording as the server sent it: restore names and blank lines that some recorders
    dropped."""
    data: bytes = (FOLDER / entry["file"]).read_bytes()
    if entry["framing"] == "sse":
        return data if data.endswith(b"\n") else data + b"\n\n"
    lines = [
        line.removeprefix(b"data: ") for line in data.split(b"\n") if line.startswith((b"data: {", b"{"))
    ]
    return b"".join(b"data: " + line + b"\n\n" for line in lines)


def same(found: str, fact: Any) -> bool:
    """Return whether a value equals a fact of the manifest, which has hashes instead of long texts."""
    if isinstance(fact, dict) and "sha256" in fact:
        fact, found = fact["sha256"], hashlib.sha256(found.encode()).hexdigest()
    return bool(found == fact)
