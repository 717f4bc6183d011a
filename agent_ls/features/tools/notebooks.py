"""Offer the notebook tool to sessions whose folder contains notebooks when they are opened.

The list of tools does not change while the session is open, because the provider has not cached a changed
prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError

if TYPE_CHECKING:
    from agent_ls.profiles.base import ProviderProfile
    from agent_ls.tools.base import Tool

LOOK_S = 2
"""Time limit of the search in seconds. If the search takes longer, the folder counts as containing notebooks."""


async def has_notebooks(environment: ExecutionEnvironment) -> bool:
    """Return whether the folder contains notebooks that are not ignored."""
    with anyio.move_on_after(LOOK_S):
        try:
            return bool(await environment.glob("**/*.ipynb", environment.working_directory()))
        except EnvError:
            return False
    return True


def notebook_tools(profile: ProviderProfile, *, native_names: bool) -> Iterator[Tool[Any]]:
    """Yield the notebook tool, unless the profile has a tool with the same name."""
    from agent_ls.profiles.create import family_tools
    from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK  # imported late: most folders have no notebooks

    if profile.registry.lookup(EDIT_NOTEBOOK.name) is None:
        yield from family_tools(EDIT_NOTEBOOK, profile.id, native_names=native_names)
