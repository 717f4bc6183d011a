"""Create the environments of a session: recorded, confined by the sandbox and the path policy, and reviewed."""

from __future__ import annotations

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.services.changes.commands import command_files
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.changes.stamps import stamps
from agent_ls.services.changes.watched_files import FileSource, NoWatch, TouchedFiles
from agent_ls.sessions.build.draft import SessionDraft
from agent_ls.sessions.build.link import SessionLink
from agent_ls.sessions.build.parts import (
    RecordedParts,
    SessionLocation,
    SessionPermissions,
    record_parts,
)
from agent_ls.sessions.notices import Notices
from agent_ls.sessions.own_environment import has_own_code
from agent_ls.sessions.services import SharedServices
from agent_ls.store.sessions import OpenSession


def external_parts(services: SharedServices, location: SessionLocation, opened: OpenSession) -> RecordedParts:
    """Return the session's model, environment and editor. A recording also gets all events."""
    # The editor's language servers know only the user's folder, not the worktree.
    language = None if location.worktree else services.editor.language
    parts = RecordedParts(
        location.local, location.files, services.models.client, services.editor.status, language
    )
    if not (recording := services.recordings.find(location.session_id)):
        return parts
    opened.recorder.observers.append(recording.write_event)
    return record_parts(parts, recording)


def watch_files(
    services: SharedServices,
    location: SessionLocation,
    opened: OpenSession,
    notices: Notices,
    link: SessionLink,
) -> TouchedFiles:
    """Watch the files that the model has read or changed, and report their changes to it in notices."""
    state = opened.stored.state if opened.stored else None
    touched = TouchedFiles(
        FileSource(
            location.files,  # not recorded: the model did not request these reads
            services.document_versions,
            location.site.disk.stamps if location.site else stamps,
            (lambda path: False) if location.site else location.bounds.is_near,
            link.turn_id,
            is_here=location.listed is not None,
        ),
        services.review,
        tell=notices.post,
        watch=services.editor.watch or NoWatch(),
        known=state.shown | state.known if state else {},
        record=opened.recorder.record_known,
    )
    opened.recorder.on_read = touched.record_read
    if location.on_disk or location.site:
        notices.look_with(touched.check_files)
    return touched


def bounded_environment(
    services: SharedServices,
    location: SessionLocation,
    permissions: SessionPermissions,
    parts: RecordedParts,
    touched: TouchedFiles,
) -> ExecutionEnvironment:
    """Return the session's environment with its sandbox and path rules."""
    within = parts.files
    if permissions.sandbox:
        from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
        from agent_ls.services.permissions.session_sandbox import (
            RerunApproval,  # imported only when needed
        )

        approval = RerunApproval(permissions.approver, location.folder)
        within = SandboxedEnvironment(within, permissions.sandbox, approval)
    # A recording or a client opens a file by its path, so check the path first and do not open the file here.
    opens_here = bool(location.listed) and not (parts.recording or services.editor.client_files)
    on_read = touched.was_read if opens_here else None
    return BoundedEnvironment(within, location.bounds, opens_here=opens_here, on_read=on_read)


def reviewed_environment(draft: SessionDraft) -> ReviewedEnvironment:
    """Return the environment that the tools use. Its changes are reported to the review."""
    services, location, bounded = draft.services, draft.location, draft.bounded
    commands = None
    if local := location.on_disk:
        # Commands change files on disk. A client returns only single files on request, so text in the client
        # is not searched.
        seen = local if services.editor.client_files else draft.parts.files
        listing = location.roots.listing(local.list_files)
        # A command in a worktree must not make the editor save the user's documents.
        host = None if location.worktree else services.editor.host
        commands = command_files(listing, seen, host, lambda: location.roots.others)
    if location.worktree:  # changes are reviewed when they are brought to the user's folder
        return ReviewedEnvironment(bounded, services.review, draft.stored, commands=commands)
    is_reviewed_first = draft.permissions.approver.is_reviewed_first
    return ReviewedEnvironment(
        bounded,
        services.review,
        draft.stored,
        is_reviewed_first,
        commands,
        may_fail_late=has_own_code(services.program.environment),
    )
