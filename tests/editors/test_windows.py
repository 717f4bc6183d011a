"""agent-ls on Windows, simulated by Wine: these tests run others in Python for Windows with Windows libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors import windows_rig as windows

pytestmark = [pytest.mark.req("H19"), pytest.mark.timeout(windows.DEADLINE_S + 60)]

if reason := windows.why_not():
    pytest.skip(reason, allow_module_level=True)


def passed(folder: Path, *arguments: str) -> None:
    code, output = windows.run_tests(arguments, folder)
    assert code == 0, output[-20_000:]
    assert " passed" in output


@pytest.mark.req("T5", "T6", "X1")
def test_the_environment_contract_holds_on_windows(tmp_path: Path) -> None:
    passed(tmp_path, "tests/editors/windows/check_environment.py")


@pytest.mark.req("T5", "L16")
def test_commands_run_by_pipes_and_end_as_a_job(tmp_path: Path) -> None:
    passed(tmp_path, "tests/editors/windows/check_commands.py")


@pytest.mark.req("H1", "H3")
def test_a_rich_client_edits_and_reviews_over_stdio(tmp_path: Path) -> None:
    passed(
        tmp_path,
        "tests/e2e/test_session.py",
        "tests/e2e/test_review.py",
        "-k",
        "(open_buffer or not_open_is_written or listed_and_configured or verdict or keep or undo) and not kill",
    )


@pytest.mark.req("H8", "H6")
def test_a_chat_is_a_document_with_only_the_server_configured(tmp_path: Path) -> None:
    passed(tmp_path, "tests/e2e/test_stock.py", "-k", "scripted_conversation or asks_about")
