"""Regular expressions are compiled at their first use, and all of them can be compiled."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages
from re import _parser as parser
from typing import Any

import pytest

import agent_ls
from agent_ls.patterns import regex

_CHARACTERS = (parser.IN, parser.LITERAL, parser.NOT_LITERAL, parser.ANY, parser.CATEGORY)
COUNT = """
import re, sys

compiled = []

def note(source, flags=0, of=re._compiler.compile):
    frame = sys._getframe(2)
    while frame.f_globals["__name__"] in ("re", "agent_ls.patterns", "functools"):
        frame = frame.f_back
    compiled.append(frame.f_globals["__name__"])
    return of(source, flags)

re._compiler.compile = note
import agent_ls.server.assembly, agent_ls.server.backend, agent_ls.headless.exec
print([name for name in compiled if name.startswith("agent_ls.")])
"""


def test_a_pattern_is_compiled_at_its_first_use_and_behaves_as_a_compiled_one() -> None:
    broken, found = regex("("), regex(r"(?P<word>b+)", re.IGNORECASE)
    with pytest.raises(re.error):
        broken.search("a")
    assert found.pattern == r"(?P<word>b+)" and found.flags & re.IGNORECASE
    assert (match := found.search("aBBa")) and match["word"] == "BB"
    assert found.sub("c", "aBBa") == "aca" and found.split("aBBa") == ["a", "BB", "a"]


def test_all_patterns_of_the_package_can_be_compiled() -> None:
    checked = 0
    for module in walk_packages(agent_ls.__path__, "agent_ls."):
        names = vars(import_module(module.name)) if _is_usable(module.name) else {}
        for value in names.values():
            for each in value if isinstance(value, tuple | list) else (value,):
                if isinstance(each, type(regex(""))):
                    assert each.flags >= 0
                    assert not _repeats_groups_possessively(each.pattern, each.flags), (
                        module.name,
                        each.pattern,
                    )
                    checked += 1
    assert checked > 300


def _repeats_groups_possessively(source: str | bytes, flags: int) -> bool:
    """Return whether a pattern has `(…)*+`, which fails before Python 3.11.5 (gh-106052). Write `(?>(…)*)`."""
    todo: list[Any] = [parser.parse(source, flags & ~re.UNICODE if isinstance(source, bytes) else flags)]
    while todo:
        if isinstance(part := todo.pop(), tuple | list | parser.SubPattern):
            if len(part) and part[0] is parser.POSSESSIVE_REPEAT and part[1][2][0][0] not in _CHARACTERS:
                return True
            todo.extend(part)
    return False


def _is_usable(module: str) -> bool:
    return not module.endswith(("__main__", ".trees.job_trees", ".trees.jobs"))


def test_a_start_compiles_no_pattern_of_its_own() -> None:
    ran = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]"]
