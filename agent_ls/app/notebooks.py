"""Where the tool for notebooks is offered: in folders that have some as the session is opened.

The list of tools stays as it is for as long as the session is open: a prompt that changes is paid for anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from agent_ls.app.cli_tools import ProfileFor
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError

if TYPE_CHECKING:
    from agent_ls.profiles.base import ProviderProfile

LOOK_S = 2
"""A folder that takes longer to look through is taken for one that has notebooks."""


async def has_notebooks(environment: ExecutionEnvironment) -> bool:
    """Whether there are notebooks in its folder that no ignore file leaves out."""
    with anyio.move_on_after(LOOK_S):
        try:
            return bool(await environment.glob("**/*.ipynb", environment.working_directory()))
        except EnvError:
            return False
    return True


def with_notebooks(profiles: ProfileFor) -> ProfileFor:
    """Profiles that offer it. None takes the place of one that is there already."""
    from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK  # most folders have none

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        if found.registry.lookup(EDIT_NOTEBOOK.name) is None:
            found.registry.register(EDIT_NOTEBOOK)
        return found

    return profile
