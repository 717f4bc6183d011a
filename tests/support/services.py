"""The real services, for tests that cost money: run only when they are wanted and there is a key."""

from __future__ import annotations

import os

import pytest

from agent_ls.llm.credentials import key_variable

ENVIRONMENT = dict(os.environ)  # before any test: the house rules of tests take keys and proxies out of it
IS_WANTED = ENVIRONMENT.get("AGENT_LS_SMOKE") == "1"


def use_service(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the provider's key, and the proxies of the machine, back; without a key the test is skipped.

    The test is to be marked `smoke`: no other may leave this machine.
    """
    variable = key_variable(provider)
    if not (IS_WANTED and ENVIRONMENT.get(variable)):
        pytest.skip(f"needs a real key in {variable}, and AGENT_LS_SMOKE=1: it costs money")
    for name in (variable, *(f"{kind}_{end}" for kind in ("HTTP", "HTTPS") for end in ("PROXY",))):
        for spelled in (name, name.lower()):
            if spelled in ENVIRONMENT:
                monkeypatch.setenv(spelled, ENVIRONMENT[spelled])
