"""Each class that a public function of the model client takes or returns can be imported from `agent_ls.llm`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args

import agent_ls.llm
from agent_ls.argument_types import hints_of


def test_each_class_in_a_public_signature_is_exported() -> None:
    names = agent_ls.llm.__all__
    exported = [getattr(agent_ls.llm, name) for name in names]
    used = {
        found.__name__
        for one in exported
        for function in signatures(one)
        for hint in hints_of(inspect.unwrap(function)).values()
        for found in classes_of(hint)
    }
    assert used - set(names) == set()


def signatures(one: Any) -> Iterator[Callable[..., Any]]:
    if inspect.isfunction(one):
        yield one
    elif isinstance(one, type):
        for name, member in inspect.getmembers(one):
            if inspect.isroutine(member) and hasattr(member, "__annotations__"):
                if name == "__init__" or not name.startswith("_"):
                    yield member


def classes_of(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("agent_ls"):
        yield hint
    for inner in get_args(hint):
        yield from classes_of(inner)
