"""Only an exact "yes" allows: no code of the product runs an action because a decision is not exactly a "no"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT, nodes, read

NO = {"deny", "denied", "undo", "restricted", "reject", "reject_once", "decline", "declined"}
"""Values with which a decision says no. A comparison with one of them treats every other value as a yes."""
_SAYS_NO = re.compile(rf"[\"'](?:{'|'.join(sorted(NO))})[\"']|\bDenied\b")
"""Parsing all files takes seconds."""
STRICTER = {
    "agent_ls/cli/mcp.py": "prints the state of a server",
    "agent_ls/cli/tools.py": "lists which tools of packs can be used; the policy decides about their calls",
    "agent_ls/features/hooks/answers.py": "a hook can only deny: everything else leaves the policy's decision",
    "agent_ls/features/hooks/service.py": "a hook can only deny: everything else leaves the request open",
    "agent_ls/mcp/approvals.py": "reads a stored entry",
    "agent_ls/mcp/session_servers.py": "every other value asks the user",
    "agent_ls/services/permissions/trust.py": "of the two values, only `trusted` trusts",
    "agent_ls/sessions/export/html_turns.py": "chooses a colour",
    "agent_ls/sessions/optional_tools.py": "lists which tools of packs can be used; the policy decides about calls",
    "agent_ls/features/skills/agents.py": "takes a tool away",
    "agent_ls/library/hunks.py": "adds reasons for what stays after an undo",
    "agent_ls/loop/calls/dispatch.py": "Denied, or the states of the files that the user has decided about",
}
"""Files that compare with a "no" where that only makes them stricter, or shows it."""


def comparisons(path: str) -> Iterator[str]:
    """Yield each comparison with a "no", and each `isinstance(…, Denied)`."""
    for node in nodes(path) if _SAYS_NO.search(read(path)) else ():
        match node:
            case ast.Compare(comparators=found):
                constants = [it for one in found for it in ast.walk(one) if isinstance(it, ast.Constant)]
                if any(it.value in NO for it in constants if isinstance(it.value, str)):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="Denied")]):
                yield ast.unparse(node)
            case _:
                pass


@pytest.mark.req("H7", "X8")
def test_no_code_takes_a_decision_for_a_yes_because_it_is_not_a_no() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in (ROOT / "agent_ls").rglob("*.py")]
    found = {name: [*comparisons(name)] for name in names}
    found = {path: texts for path, texts in found.items() if texts}
    assert {path: texts for path, texts in found.items() if path not in STRICTER} == {}
    assert STRICTER.keys() <= found.keys()
