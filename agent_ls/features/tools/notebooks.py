"""Offer the notebook tool to sessions whose folder contains notebooks when they are opened.

The list of tools does not change while the session is open, because the provider has not cached a changed
prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.features.tools.yaml_tools import ProfileFor

if TYPE_CHECKING:
    from agent_ls.profiles.base import ProviderProfile

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


def with_notebooks(profiles: ProfileFor, *, native_names: bool) -> ProfileFor:
    """Add the notebook tool to profiles. It never replaces a tool with the same name."""
    from agent_ls.profiles.create import family_tools
    from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK  # imported late: most folders have no notebooks

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        if found.registry.lookup(EDIT_NOTEBOOK.name) is None:
            for tool in family_tools(EDIT_NOTEBOOK, provider, native_names=native_names):
                found.registry.register(tool)
        return found

    return profile
