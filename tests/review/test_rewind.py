from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from agent_ls.review.rewind import (
    CHANGED_SINCE,
    DELETED_SINCE,
    LINES_CHANGED_SINCE,
    MADE_AGAIN,
    NOT_KEPT,
    AgentChange,
    FileVersion,
    RewindConflict,
    Rewound,
    rewind,
)

pytestmark = pytest.mark.req("X10")


def side(data: bytes | None) -> FileVersion:
    return FileVersion("" if data is None else hashlib.sha256(data).hexdigest(), data)


def steps(*contents: bytes | None) -> list[AgentChange]:
    """Return pairs of a text and the next one."""
    return [
        AgentChange(side(before), side(after))
        for before, after in zip(contents[::2], contents[1::2], strict=True)
    ]


OLD, NEW, NEWER = b"one\ntwo\nthree\n", b"one\nTWO\nthree\n", b"one\nTWO!\nthree\n"


@pytest.mark.parametrize(
    ("now", "made", "expected"),
    [
        pytest.param(NEW, steps(OLD, NEW), OLD, id="nobody came after the agent"),
        pytest.param(NEWER, steps(OLD, NEW, NEW, NEWER), OLD, id="two changes"),
        pytest.param(OLD, steps(OLD, NEW), OLD, id="taken back already"),
        pytest.param(b"0\n" + NEW, steps(OLD, NEW), b"0\n" + OLD, id="the user typed elsewhere"),
        pytest.param(
            b"one\nTWO!\nthree\nfour\n", steps(OLD, NEW, NEW + b"four\n", NEWER + b"four\n"), OLD + b"four\n",
            id="the user typed between two changes",
        ),
        pytest.param(NEW, steps(None, NEW), None, id="made by the agent"),
        pytest.param(None, steps(OLD, None), OLD, id="deleted by the agent"),
        pytest.param(None, steps(None, NEW), None, id="made by the agent, deleted by the user"),
        pytest.param(None, steps(None, NEW, NEW, None), None, id="made and deleted"),
        pytest.param(b"\0new", steps(b"\0old", b"\0new"), b"\0old", id="binary"),
        pytest.param(
            b"\xef\xbb\xbf0\r\n" + NEW, steps(OLD, NEW), b"\xef\xbb\xbf0\r\n" + OLD,
            id="the user's encoding stays",
        ),
        pytest.param(
            b"\xff\xfe" + "x\none\nTWO\n".encode("utf-16-le"), steps(b"one\n", b"one\nTWO\n"),
            b"\xff\xfe" + "x\none\n".encode("utf-16-le"), id="saved in another encoding",
        ),
    ],
)  # fmt: skip
def test_rewind_without_conflicts_undoes_only_the_agents_changes(
    now: bytes | None, made: list[AgentChange], expected: bytes | None
) -> None:
    assert rewind(side(now), made) == Rewound(expected)


@pytest.mark.parametrize(
    ("now", "made", "reason"),
    [
        pytest.param(b"one\n2\nthree\n", steps(OLD, NEW), LINES_CHANGED_SINCE, id="the same lines"),
        pytest.param(None, steps(OLD, NEW), DELETED_SINCE, id="deleted since"),
        pytest.param(b"other\n", steps(OLD, None), MADE_AGAIN, id="made again"),
        pytest.param(NEW + b"mine\n", steps(None, NEW), CHANGED_SINCE, id="made by the agent, changed since"),
        pytest.param(b"\0x", steps(OLD, NEW), CHANGED_SINCE, id="no text any more"),
    ],
)
def test_rewind_reports_conflicting_later_text_and_only_force_discards_it(
    now: bytes | None, made: list[AgentChange], reason: str
) -> None:
    rewound = rewind(side(now), made)
    assert isinstance(rewound, RewindConflict)
    assert (rewound.reason, rewound.is_lost) == (reason, False)
    assert rewind(side(now), made, force=True) == Rewound(made[0].before.data)


def test_rewind_reports_the_current_position_of_conflicting_lines() -> None:
    rewound = rewind(side(b"0\none\n2\nthree\n"), steps(OLD, NEW))
    assert isinstance(rewound, RewindConflict)
    assert [(at.start, at.end) for at in rewound.at] == [(2, 3)]


@pytest.mark.parametrize("force", [False, True])
def test_rewind_without_a_stored_content_is_reported_as_unknown(force: bool) -> None:
    lost = FileVersion("a-name", None)
    assert rewind(side(NEW), [AgentChange(lost, side(NEW))], force=force) == RewindConflict(
        NOT_KEPT, is_lost=True
    )
    assert rewind(side(NEW), [AgentChange(side(OLD), FileVersion("b", None))], force=False) == RewindConflict(
        NOT_KEPT, is_lost=True
    )
    # The content between the two changes is lost, but the first and last content are enough.
    assert rewind(side(NEW), [AgentChange(side(OLD), lost), AgentChange(lost, side(NEW))]) == Rewound(OLD)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=6).map(
    lambda it: "".join(it).encode()
)


@given(st.lists(LINES, min_size=2, max_size=5), LINES)
def test_rewind_of_a_rewind_without_other_changes_restores_everything(
    contents: list[bytes], typed: bytes
) -> None:
    made = [AgentChange(side(a), side(b)) for a, b in pairwise(contents)]
    now = contents[-1] + typed
    back = rewind(side(now), made)
    if isinstance(back, Rewound):
        again = AgentChange(side(now), side(back.content))
        assert rewind(side(back.content), [again]) == Rewound(now)
        if not typed:
            assert back.content == contents[0]
