"""The VS Code extension as users get it: the packed file in a real workbench, driven by mouse and keys."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent_ls.app.sample import copy_sample_project
from tests.support import vscode

pytestmark = [
    pytest.mark.skipif(bool(vscode.why_not()), reason=vscode.why_not()),
    pytest.mark.timeout(vscode.DEADLINE_S + 60),
]

PYTHON = str(Path(sys._base_executable).resolve())


@pytest.mark.req("H6", "H7", "H9", "H12", "H17")
def test_the_walkthrough_session_plays_on_the_server_that_the_package_brings_along(tmp_path: Path) -> None:
    copy_sample_project(tmp_path / "shop")
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str((vscode.RIG / "wheels").resolve())}

    vscode.play(
        "walkthrough.mjs",
        tmp_path / "shop",
        machine={"agentLs.python": PYTHON},
        env={"AGENT_LS_STATE_DIR": str(tmp_path / "state"), **index},
        trust=True,
    )

    cart = (tmp_path / "shop/shop/cart.py").read_text()
    assert "# mine" not in cart, "nobody saved the file, and nobody's typing was saved for him"
