"""agent-ls on Windows, simulated by Wine: these tests run others in Python for Windows with Windows libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import test_review, test_session, test_stock
from tests.editors import windows_rig as windows

pytestmark = [pytest.mark.req("H19"), pytest.mark.timeout(windows.DEADLINE_S + 60)]

if reason := windows.why_not():
    pytest.skip(reason, allow_module_level=True)


def passed(folder: Path, *arguments: str) -> None:
    code, output = windows.run_tests(arguments, folder)
    assert code == 0, output[-20_000:]
    assert " passed" in output


def address(test: Callable[..., object]) -> str:
    """Return the test in the form that pytest accepts as an argument."""
    return f"{test.__module__.replace('.', '/')}.py::{test.__name__}"


@pytest.mark.req("T5", "T6", "X1")
def test_the_environment_contract_tests_pass_on_windows(tmp_path: Path) -> None:
    passed(tmp_path, "tests/editors/windows/check_environment.py")


@pytest.mark.req("T5", "L16")
def test_commands_on_windows_use_pipes_and_are_ended_as_a_job_object(tmp_path: Path) -> None:
    passed(tmp_path, "tests/editors/windows/check_commands.py")


@pytest.mark.req("H1", "H3")
def test_edits_and_reviews_over_stdio_work_on_windows(tmp_path: Path) -> None:
    tests: list[Callable[..., object]] = [
        test_session.test_a_task_edits_the_open_buffer_and_is_reviewed_hunk_by_hunk,
        test_session.test_a_file_that_is_not_open_is_written_to_disk_and_the_editor_is_notified,
        test_session.test_sessions_are_listed_and_configured,
        test_review.test_a_decision_on_a_hunk_updates_the_virtual_document_of_accepted_text,
        test_review.test_with_review_before_only_decisions_change_the_file,
    ]
    passed(tmp_path, *map(address, tests))


@pytest.mark.req("H8", "H6")
def test_a_chat_document_works_on_windows_with_only_the_server_configured(tmp_path: Path) -> None:
    tests: list[Callable[..., object]] = [
        test_stock.test_the_user_can_reply_in_the_chat_to_an_answer_that_ends_with_a_question,
        test_stock.test_a_code_action_asks_about_lines_of_a_file,
    ]
    passed(tmp_path, *map(address, tests))
