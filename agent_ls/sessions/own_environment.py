"""A session that acted in an environment of a program must not act on this machine when it is resumed."""

from __future__ import annotations

import os

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.services.errors import BadChoiceError
from agent_ls.store.log import Header


def acts_elsewhere(environment: ExecutionEnvironment | None) -> bool:
    """Return whether this is an environment of a program that is not this machine, also in wrappers."""
    while isinstance(environment, ForwardingEnvironment):
        environment = environment.inner
    return environment is not None and not isinstance(environment, LocalEnvironment)


def check_same_environment(header: Header, environment: ExecutionEnvironment | None) -> None:
    """Check that a stored session is resumed where it acted.

    Raises:
        BadChoiceError: it acted in an environment of the program and none is given, or one with another folder.
    """
    if environment is None:
        if header.has_own_environment:
            raise BadChoiceError(
                f"the session {header.session_id} acted in an environment of a program, not on this machine",
                "resume it in that program, with environment=",
            )
        return
    folder, wanted = environment.working_directory(), header.workspace_folder
    if folder != wanted and os.path.realpath(folder) != os.path.realpath(wanted):
        raise BadChoiceError(
            f"environment: the session is in {wanted}, not in {folder}",
            "pass the environment of the session, with the same working_directory",
        )
