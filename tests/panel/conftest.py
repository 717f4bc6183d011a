"""The page of the panel is built from the sources of the VS Code extension, once for all workers."""

from __future__ import annotations

import os

import pytest

from agent_ls.panel.page import PageMissingError, load_page
from tests.support import REPOSITORY

BUILD = [REPOSITORY / ".ci" / "npm", "vscode-extension", "run", "--silent", "panel"]


@pytest.fixture(autouse=True)
def _page() -> None:
    if os.name != "posix":
        pytest.skip("Windows has no local channel")
    try:
        load_page()
    except PageMissingError:
        pytest.skip("the page of the panel is not built: make panel-page")
