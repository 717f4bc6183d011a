"""Definitions of MCP servers in a project: nothing starts but what an approval has shown, and no secret unseen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.environments.effects import ServerEffect
from agent_ls.environments.local.environ import is_secret_name
from agent_ls.features.mcp.of_session import _limits, effect_of
from agent_ls.mcp.config import (
    ConfigError,
    HttpTarget,
    ServerConfig,
    Target,
    VariableValues,
    fill_variables,
)
from agent_ls.mcp.sources import PROJECT_FILES, find_servers
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.servers import SECRET, VARIABLES, definitions

pytestmark = pytest.mark.req("T11", "H17", "X4")
TRIES = 20_000 if IS_WHOLE else 300
SEED = seeded(11)


def found_in(folder: Path, definition: object) -> ServerConfig | None:
    """Return the server of a definition in a project's file as a session finds it; None if it is refused."""
    (folder / PROJECT_FILES[0]).write_text(json.dumps({"mcpServers": {"it": definition}}))
    servers = find_servers(None, folder).servers
    return servers[0] if servers else None


def started(config: ServerConfig) -> Target | None:
    values = VariableValues(VARIABLES.get, lambda server, name: None, "/w")
    try:
        return fill_variables(config, values).target
    except ConfigError:
        return None


def shown(config: ServerConfig) -> tuple[ServerEffect, str]:
    """Return what the request for an approval displays."""
    return replace(effect_of(config), config=""), _limits(config)


def visible_parts(target: Target) -> object:
    """Return what starts, without the values of secrets, which a request names but does not display."""
    if isinstance(target, HttpTarget):
        return target.url, [name for name, _ in target.headers]
    limits = target.sandbox
    env = [(name, "" if is_secret_name(name) else value) for name, value in target.env]
    return target.command, target.args, env, target.cwd, limits and (limits.network, limits.writable)


@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
def test_nothing_starts_that_an_approval_has_not_shown(tmp_path: Path) -> None:
    compared = 0
    for first, second in while_in_time(definitions(SEED, TRIES)):
        configs = [found_in(tmp_path, it) for it in (first, second)]
        for config in filter(None, configs):
            assert config.needs_approval and not config.trusts_annotations, first
            target = started(config)
            if target and SECRET in repr(target):
                assert "MY_TOKEN" in repr(shown(config)), (first, second)
        one, two = configs
        if one is None or two is None or started(one) in (None, started(two)) or not started(two):
            continue
        compared += 1
        assert one.digest != two.digest, (first, second)
        if visible_parts(one.target) != visible_parts(two.target):
            assert shown(one) != shown(two), (first, second)
    assert compared > TRIES / 10
