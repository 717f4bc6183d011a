"""One vocabulary of permission modes: the names of each face are those of the policy."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_ls.acp.options import MODES as ACP_MODES
from agent_ls.policy.modes import MODES, OLD_NAMES, UnknownModeError, parse_mode
from agent_ls.policy.situation import Mode
from agent_ls.services.settings.model import Settings

pytestmark = pytest.mark.req("X8")


def test_every_face_has_the_same_modes() -> None:
    names = get_args(Mode)
    assert tuple(MODES) == tuple(ACP_MODES) == names
    assert get_args(Settings.model_fields["mode"].annotation) == names
    for name in names:
        assert parse_mode(name) == (name, "")


@pytest.mark.parametrize("old", OLD_NAMES)
def test_old_name_is_read_with_a_hint_that_has_the_new_one(old: str) -> None:
    mode, hint = parse_mode(old)
    assert mode == OLD_NAMES[old] and mode in hint


@pytest.mark.report("langchain-ai/deepagents#4617")  # fmt: skip
@pytest.mark.parametrize(
    ("name", "near"), [("ful", "full"), ("Edit", "edits"), ("yolo", "full"), ("wild", ""), ("", "")]
)
def test_unknown_name_is_refused_with_the_modes_and_the_nearest_one(name: str, near: str) -> None:
    with pytest.raises(UnknownModeError) as refused:
        parse_mode(name)
    words = str(refused.value)
    assert all(mode in words for mode in MODES) and ("did you mean" in words) is bool(near)
    assert f"did you mean {near}" in words or not near
