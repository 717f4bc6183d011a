"""A floor for start-up: a pygls server that only answers requests and sends one request to the model."""

from __future__ import annotations

import os
from typing import Any

from pygls.lsp.server import LanguageServer

from benchmarks.bare_server import post

server = LanguageServer("hello", "1")


@server.feature("agent/newSession")
def new_session(params: Any) -> dict[str, Any]:
    return {"session": {"id": "s"}}


@server.feature("agent/subscribe")
def subscribe(params: Any) -> dict[str, Any]:
    return {}


@server.feature("agent/submit")
def submit(params: Any) -> dict[str, Any]:
    post(os.environ["ANTHROPIC_BASE_URL"], {"messages": []}).close()
    return {}


if __name__ == "__main__":
    server.start_io()
