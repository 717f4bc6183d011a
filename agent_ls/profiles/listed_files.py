"""Read the files that a project's `opencode.json` lists as instructions."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import AsyncIterator
from contextlib import suppress

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.jsonc import parse_jsonc
from agent_ls.profiles.document_imports import MAX_IMPORTS, OUTSIDE, read_import

CONFIGS = ("opencode.json", "opencode.jsonc")


async def read_listed(
    environment: ExecutionEnvironment, folder: str, config: str
) -> AsyncIterator[tuple[str, str]]:
    """Yield path and text of each file in the list `instructions` of `config`, the text of a file in `folder`.

    The list has paths and globs relative to `folder`. Addresses on the web are left out.
    """
    rules = ntpath if environment.platform() == "windows" else posixpath
    left = MAX_IMPORTS
    for name in _listed(config):
        paths = [rules.normpath(rules.join(folder, name))]
        if name.startswith("~"):
            yield paths[0], OUTSIDE
            continue
        if "*" in name or "{" in name:
            paths = []
            with suppress(EnvError):
                found = await environment.glob(name.removeprefix("./"), folder)
                paths = sorted(rules.join(environment.working_directory(), it) for it in found)
        for path in paths[:left]:
            left -= 1
            if text := await read_import(environment, path):
                yield path, text


def _listed(config: str) -> list[str]:
    try:
        read = parse_jsonc(config)
    except (ValueError, RecursionError):
        return []
    listed = read.get("instructions") if isinstance(read, dict) else None
    names = listed if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str) and name and "://" not in name]
