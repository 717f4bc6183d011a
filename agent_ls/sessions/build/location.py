"""Determine where a session works: in a folder of this machine, on another machine, or in a git worktree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from agent_ls.policy.places import fold_path
from agent_ls.program_lookup import add_workspace
from agent_ls.services.permissions.paths import PathBounds, places_of, temporary_folder
from agent_ls.services.permissions.workspace_roots import SessionRoots
from agent_ls.sessions.build.parts import SessionLocation

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Worktree
    from agent_ls.services.settings.model import Settings
    from agent_ls.sessions.build.link import SessionLink
    from agent_ls.sessions.services import SharedServices
    from agent_ls.sessions.session_log import SessionFiles
    from agent_ls.store.log import Header


def locate(
    services: SharedServices,
    header: Header,
    settings: Settings,
    stored: SessionFiles,
    link: SessionLink,
    worktree: Worktree | None,
) -> SessionLocation:
    """Return where the session works, and which folders belong to it."""
    key = header.workspace_folder
    site = services.sites.site(key)
    if worktree:
        folder, local_folder, root = worktree.folder, worktree.folder, worktree.root
    else:  # on another machine, `local_folder` is the name under which this process knows the folder
        folder, local_folder, root = site.root if site else key, key, ""
    if not site:
        add_workspace(key)
    local = services.local(local_folder, stored.check_ownership)
    guarded: set[str] = set()
    find_places = partial(
        places_of,
        settings=settings.paths,
        state=str(services.state),
        worktree=root,
        is_guarded=lambda path: fold_path(path) in guarded,
    )
    is_here = not (services.program.environment or site)
    bounds = (
        PathBounds(site.places, site.disk)
        if site
        else PathBounds(
            find_places(folder),
            temporary=next(temporary_folder(settings.paths), "") if is_here else "",
            is_created=partial(services.review.is_created, header.session_id),
        )
    )

    def other_folders() -> Sequence[str]:
        if site or worktree:  # a session in a worktree must not change the user's other folders
            return ()
        return (*services.client.folders(), *services.client.session_folders(header.session_id))

    return SessionLocation(
        session_id=header.session_id,
        key=key,
        folder=folder,
        site=site,
        is_here=is_here,
        local=local,
        files=services.files(local, header.session_id),
        bounds=bounds,
        roots=SessionRoots(local_folder, other_folders, services.trust, bounds, link.emit, find_places),
        worktree=worktree,
        guarded=guarded,
    )
