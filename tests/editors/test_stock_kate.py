"""Real Kate, set up as docs/other-editors.md says: a conversation by its code actions, after which it applies edits."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.virtual_screen import VirtualScreen, missing_tools
from tests.support import recipes

EACH_S = 4.0
"""Seconds between two attempts, so that an opening menu is not closed."""

MISSING = missing_tools("kate")

pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)} (make test-editors installs them where it may)"
)


def kate(shop: Path, tmp_path: Path) -> VirtualScreen:
    settings = tmp_path / ".config" / "kate"
    (settings / "lspclient").mkdir(parents=True)
    (tmp_path / ".config" / "katerc").write_text("[Kate Plugins]\nlspclientplugin=true\n")
    recipes.written_recipe("kate", settings / "lspclient" / "settings.json")
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    environ = {
        **recipes.environment(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / ".config"),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    return VirtualScreen(["kate", "-n", "chat.agent.md"], cwd=shop, environ=environ)


def count_events(folder: Path, kind: str) -> int:
    """Return the number of events of this kind in the logs of the sessions."""
    logs = (folder / "state").glob("workspaces/*/sessions/*/log.jsonl")
    return sum(log.read_bytes().count(f'"kind":{json.dumps(kind)}'.encode()) for log in logs)


@pytest.mark.req("H8", "H11")
@pytest.mark.timeout(300)
def test_a_conversation_completes_in_stock_kate(tmp_path: Path) -> None:
    shop = recipes.shop(tmp_path / "shop")
    chat = shop / "chat.agent.md"
    chat.touch()
    with kate(shop, tmp_path) as screen:

        def act(is_done: Callable[[], bool], what: str) -> None:
            """Run the first code action, which may not exist yet; repeat this until `is_done` returns True."""
            tried_at = 0.0

            def done_or_tried() -> bool:
                nonlocal tried_at
                if time.monotonic() > tried_at:
                    screen.keys("Escape")
                    if is_done():
                        return True
                    screen.keys("alt+Return")
                    tried_at = time.monotonic() + EACH_S
                elif screen.count("kate") > 1:
                    screen.keys("Down", "Return")
                return False

            screen.until(done_or_tried, what)

        def saved() -> str:
            screen.keys("ctrl+s")
            return chat.read_text()

        screen.accept("LSP server start requested")
        screen.focus("chat.agent.md")
        screen.write(recipes.TASK)
        act(lambda: count_events(tmp_path / "bin", "user_input") == 1, "the message to be sent")
        screen.until(lambda: count_events(tmp_path / "bin", "processing_end") == 1, "the end of the turn")
        act(lambda: saved().rstrip().endswith("## you"), "the end of the answer")
    assert chat.read_text().startswith(f"{recipes.TASK}\n\n## agent <!-- s-")
    assert chat.read_text().count("All tests pass.") == chat.read_text().count("## agent") == 1
    assert "amount * (1 - DISCOUNT_RATE)" in (shop / "shop/cart.py").read_text()
