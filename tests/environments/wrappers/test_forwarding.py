"""ForwardingEnvironment has every method of an environment. A missing one would use the base class instead."""

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
def test_every_method_is_forwarded_with_the_signature_of_the_base_class(name: str) -> None:
    promised, forwarded = getattr(ExecutionEnvironment, name), getattr(ForwardingEnvironment, name)
    assert inspect.signature(forwarded) == inspect.signature(promised)
