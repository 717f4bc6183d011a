"""The chat of the VS Code extension in a real workbench: its states, themes, keys and speed, with a scripted server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors import vscode_rig as vscode

pytestmark = vscode.MARKS


def scripted(items: int = 0) -> dict[str, Any]:
    """Return the environment for a server with scripted sessions that have this many items of history."""
    command = [str(vscode.RIG / "node/bin/node"), str(vscode.SCRIPTS / "scripted_server.mjs")]
    return {"machine": {"agentLs.command": command}, "env": {"SCRIPT_ITEMS": str(items)}}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop/cart.py").write_text("def total(prices):\n    return sum(prices)\n")
    return folder


@pytest.mark.req("H9")
def test_a_hostile_model_answer_has_no_effect_in_the_chat_and_axe_finds_no_serious_problem(
    shop: Path,
) -> None:
    vscode.play("chat_safety.mjs", shop, **scripted())


@pytest.mark.req("H7", "H9")
def test_prompt_queue_plan_and_questions_work_by_mouse_and_keys(shop: Path, tmp_path: Path) -> None:
    given = scripted()
    vscode.play(
        "chat_look.mjs", shop, machine=given["machine"], env={"SCRIPT_STATE": str(tmp_path / "draft.json")}
    )


LOOKS = {
    "light": ("Default Light Modern", [300, 400, 600]),
    "dark": ("Default Dark Modern", [600, 300]),
    "contrast": ("Default High Contrast", [600, 300]),
    "contrast_light": ("Default High Contrast Light", [600, 300]),
}
"""Themes, each with widths in px. What fits hardly depends on the theme, but colours do."""


@pytest.mark.req("H9")
@pytest.mark.sweep
@pytest.mark.parametrize("look", LOOKS)
def test_each_state_of_the_chat_fits_and_can_be_read_in_each_theme(shop: Path, look: str) -> None:
    theme, widths = LOOKS[look]
    answers = {"look": lambda: {"theme": theme, "widths": widths}}
    vscode.play("chat_states.mjs", shop, **scripted(), answers=answers, pictures=f"chat_{look}")


@pytest.mark.req("H7", "H9")
def test_a_finished_turn_is_reviewed_in_the_bar_and_in_the_files_only(shop: Path) -> None:
    vscode.play("one_review.mjs", shop, **scripted())


@pytest.mark.req("H9")
def test_ten_thousand_deltas_and_two_thousand_items_leave_the_chat_responsive(shop: Path) -> None:
    vscode.play("chat_performance.mjs", shop, **scripted(2000))
