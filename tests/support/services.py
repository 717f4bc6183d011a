"""Access to real providers. Tests that use it cost money, and run only with AGENT_LS_SMOKE=1 and a key."""

from __future__ import annotations

import os

import pytest

from agent_ls.llm.credentials import key_variable

ENVIRONMENT = dict(os.environ)  # read before any test, because a fixture removes keys and proxies
IS_WANTED = ENVIRONMENT.get("AGENT_LS_SMOKE") == "1"


def use_service(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the provider's key and the proxies as the user had set them. Skip the test if there is no key.

    Only tests that are marked `smoke` may use the network.
    """
    variable = key_variable(provider)
    if not (IS_WANTED and ENVIRONMENT.get(variable)):
        pytest.skip(f"needs a real key in {variable}, and AGENT_LS_SMOKE=1: it costs money")
    for name in (variable, "HTTP_PROXY", "HTTPS_PROXY"):
        for spelled in (name, name.lower()):
            if spelled in ENVIRONMENT:
                monkeypatch.setenv(spelled, ENVIRONMENT[spelled])
