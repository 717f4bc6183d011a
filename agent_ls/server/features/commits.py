"""Handler that writes a commit message. The client inserts the message; nothing is staged or committed here."""

from __future__ import annotations

from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.router import route


async def commit_message(context: Context, params: wire.CommitMessage) -> wire.CommitMessageResult:
    # Imported here, because few connections ask for a commit message.
    from agent_ls.features.suggestions.commit_message import CommitMessages
    from agent_ls.features.suggestions.context import SuggestionContext

    await context.wait_for_settings()
    manager = context.manager
    messages = CommitMessages(
        SuggestionContext(manager.models, manager.trust, lambda: manager.settings, manager.secrets)
    )
    written = await messages.write(context.folder(params.folder), params.draft, context.folders())
    return wire.CommitMessageResult(message=written.text, staged=written.staged)


ROUTES = (route(wire.CommitMessage, commit_message),)
