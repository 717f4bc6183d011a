"""The first request of a session on each native wire equals the reviewed snapshot of its family (P1, P7, P9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.profiles.options import load_base_prompt
from tests.parity import wires
from tests.parity.cell import SERVERS, cell
from tests.support.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
NATIVE_MODELS = {"openai": "gpt-6.1-sol", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-4-argon"}


def outlined(value: Any, key: str = "") -> Any:
    """Return a request body without values that differ between sessions, and with long texts cut to their
    first words."""
    match value:
        case dict():
            return {name: outlined(it, name) for name, it in value.items()}
        case list():
            return [outlined(it, key) for it in value]
        case str() if key in ("prompt_cache_key", "user_id"):
            return "(the session)"
        case str() if len(value) > 60:
            return f"{value[:60]}…"
        case _:
            return value


@pytest.mark.req("P1", "P7", "P9")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("provider", SERVERS)
async def test_first_request_is_the_one_that_was_reviewed_for_its_family(
    provider: str, native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"provider": provider, "model": NATIVE_MODELS[provider], "nativeToolNames": native}
    async with cell(provider, tmp_path, monkeypatch, settings=settings) as it:
        it.answers("Hello.")
        await it.say("Hello?")
        (body,) = it.bodies
        prompt = wires.instructions(provider, body)
        if not native:
            assert prompt.startswith(load_base_prompt(provider).strip())
        text = json.dumps(outlined(body), indent=1, ensure_ascii=False) + "\n"
        check_snapshot(SNAPSHOTS / f"{provider}{'_native' if native else ''}_request.json", text)
