"""A session that acted in an environment of a program is resumed only with one.

Without it, the session would act on this machine, or without what a wrapper of this machine refuses.
"""

from __future__ import annotations

import os

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.wrappers.own import OwnEnvironment
from agent_ls.services.errors import BadChoiceError
from agent_ls.store.log import Header


def has_own_code(environment: ExecutionEnvironment | None) -> bool:
    """Return whether a program has passed more than a `LocalEnvironment`: a class of its own, or a wrapper."""
    passed = environment.inner if isinstance(environment, OwnEnvironment) else environment
    return passed is not None and type(passed) is not LocalEnvironment


def check_same_environment(header: Header, environment: ExecutionEnvironment | None) -> None:
    """Check that a stored session is resumed where it acted.

    Raises:
        BadChoiceError: it acted in an environment of the program and none is given, or one with another folder.
    """
    if environment is None:
        if header.has_own_environment:
            raise BadChoiceError(
                f"the session {header.session_id} acted in an environment of a program",
                "resume it in that program, with environment=",
            )
        return
    folder, wanted = environment.working_directory(), header.workspace_folder
    if folder != wanted and os.path.realpath(folder) != os.path.realpath(wanted):
        raise BadChoiceError(
            f"environment: the session is in {wanted}, not in {folder}",
            "pass the environment of the session, with the same working_directory",
        )
