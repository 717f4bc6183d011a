"""A wrapper must not forget a method: it would then answer for itself."""

from __future__ import annotations

import inspect

import pytest

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment

PROMISED = [
    name for name, _ in inspect.getmembers(ExecutionEnvironment, inspect.isfunction) if name[0] != "_"
]


@pytest.mark.req("X4")
@pytest.mark.parametrize("name", PROMISED)
def test_every_method_is_forwarded_as_it_is_promised(name: str) -> None:
    promised, forwarded = getattr(ExecutionEnvironment, name), getattr(ForwardingEnvironment, name)
    assert inspect.signature(forwarded) == inspect.signature(promised)
