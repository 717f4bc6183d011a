from __future__ import annotations

import pytest

from agent_ls.near_names import nearest

COMMANDS = ("exec", "models", "mode", "tools", "sessions", "configuration", "webFetch")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("exce", "exec"),
        ("modle", "mode"),
        ("modles", "models"),
        ("modee", "mode"),
        ("Sesions", "sessions"),
        ("webfetch", "webFetch"),
        ("config", "configuration"),
        ("yolo", "exec"),
        ("foo", ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_a_slip_a_beginning_and_another_word_for_a_name_are_found_and_no_other_word(
    typed: str, meant: str
) -> None:
    assert nearest(typed, COMMANDS, {"yolo": "exec"}) == meant
