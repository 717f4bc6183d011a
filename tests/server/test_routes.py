"""The server imports a handler only when its message arrives: the tables for this agree with the handlers."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from agent_ls.server import features, protocol
from agent_ls.server.features.routes import METHODS, ROUTES
from agent_ls.server.rpc.access import READ_ONLY_METHODS


def test_the_method_table_lists_the_routes_of_every_feature_module() -> None:
    found = {
        name: tuple(route.params.method for route in routes)
        for _, name, _ in iter_modules(features.__path__)
        if name != "routes"
        and (routes := getattr(import_module(f"{features.__name__}.{name}"), "ROUTES", ()))
    }
    assert dict(METHODS) == found


def test_a_route_is_found_by_its_method() -> None:
    assert all(route.params.method == method for method, route in ROUTES.items())
    assert "agent/unheard" not in ROUTES


def test_methods_listed_as_read_only_exist() -> None:
    assert set(ROUTES) >= READ_ONLY_METHODS


def test_accessing_an_unknown_message_class_raises_attribute_error(name: str = "Nothing") -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        getattr(protocol, name)
