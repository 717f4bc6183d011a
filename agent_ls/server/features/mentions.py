"""Read the content of a message's mentions before the message is sent, and offer mentions in completion."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence
from os.path import basename
from typing import TYPE_CHECKING

import anyio

from agent_ls.environments.errors import NoAnswerError
from agent_ls.environments.language_host import Symbol
from agent_ls.features.mentions.git import is_in_repository
from agent_ls.features.mentions.values import (
    AttachedContent,
    CommitMention,
    DiffMention,
    FileMention,
    Mention,
    PageMention,
    SymbolMention,
    TerminalMention,
)
from agent_ls.server import protocol as wire
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.transport.errors import BadInputError
from agent_ls.services.context.fuzzy import find_best_matches
from agent_ls.system import relative_to_folder

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession

MAX_EACH = 8
"""Maximum number of symbols, of commits and of terminals in one completion list."""
MIN_SYMBOL_CHARS = 2
SYMBOLS_WAIT_S = 0.5
"""How long completion waits for language servers, because the user is typing."""

MENTIONS = (
    wire.FileInput, wire.FolderInput, wire.SymbolInput, wire.DiffInput, wire.CommitInput, wire.TerminalTextInput,
    wire.PageInput,
)  # fmt: skip


async def with_mentions(live: LiveSession, parts: Sequence[wire.InputPart]) -> Sequence[wire.InputPart]:
    """Return the parts with each mention replaced by its content. Parts of files and folders are kept; the
    images in their content are added after them.

    Raises:
        MentionError: a mention cannot be read, or the policy does not allow reading it. BadInputError: a uri is
        not the URI of a file.
    """
    found: list[wire.InputPart] = []
    for part in parts:
        if not (mention := _mention(part)):
            found.append(part)
            continue
        attached = await live.mentions.read(mention)
        text, *images = as_parts(attached)
        found += [part if isinstance(part, wire.FileInput | wire.FolderInput) else text, *images]
    return found


def as_parts(attached: AttachedContent) -> Sequence[wire.InputPart]:
    """Return the text of an attachment, followed by its images."""
    images = [
        wire.ImageInput(media_type=image.media_type, data=base64.b64encode(image.data or b"").decode("ascii"))
        for image in attached.images
    ]
    return [wire.TextInput(text=attached.text), *images]


def _mention(part: wire.InputPart) -> Mention | None:
    match part:
        case wire.DiffInput(staged=staged):
            return DiffMention(staged)
        case wire.CommitInput(revision=revision):
            return CommitMention(revision)
        case wire.TerminalTextInput(name=name, text=text):
            return TerminalMention(name, text)
        case wire.PageInput(url=url):
            return PageMention(url)
        case wire.SymbolInput(name=name, uri=uri, start_line=first, end_line=last):
            if path := maybe_path(uri):
                return SymbolMention(name, path, first, last)
            raise BadInputError(f"the symbol {name} is not in a file", "mention a file instead")
        case wire.FileInput(uri=uri) | wire.FolderInput(uri=uri):
            path = maybe_path(uri)  # for a URI of another scheme, only the name is sent
            return FileMention(path, isinstance(part, wire.FolderInput)) if path else None
        case _:
            return None


# -- completion


async def offered_first(context: Context, folder: str, params: wire.Complete) -> Sequence[wire.Completion]:
    """Return the completions that are listed before files: git diffs, background processes and commits.

    If the typed word is a web address, the only completion is that page.
    """
    word = params.query.lower()
    found: list[wire.Completion] = []
    if word.startswith(("https://", "http://")):
        return [wire.Completion(kind="page", label=params.query, part=wire.PageInput(url=params.query))]
    wanted = [name for name in ("diff", "staged") if name.startswith(word)]
    has_git = await anyio.to_thread.run_sync(is_in_repository, folder) if wanted else False
    if has_git:
        details = {"diff": "git changes since the last commit", "staged": "git changes that are staged"}
        for name in wanted:
            part = wire.DiffInput(staged=name == "staged")
            found.append(wire.Completion(kind="diff", label=name, detail=details[name], part=part))
    found += [item async for item in _terminals(context, params)]
    if _asks_for("commit:", word):
        commits = dict(await context.manager.commits.of(folder))
        rest = word.partition(":")[2]  # "" if the word is only the beginning of "commit:"
        by_line = {f"{commit} {subject}": commit for commit, subject in commits.items()}
        for line in find_best_matches(rest, by_line, MAX_EACH) if rest else [*by_line][:MAX_EACH]:
            commit = by_line[line]
            found.append(
                wire.Completion(
                    kind="commit",
                    label=f"commit:{commit}",
                    detail=commits[commit],
                    part=wire.CommitInput(revision=commit),
                )
            )
    return found


async def _terminals(context: Context, params: wire.Complete) -> AsyncIterator[wire.Completion]:
    """Yield completions for the newest background processes of the session."""
    live = context.manager.find_live(params.session_id) if params.session_id else None
    word = params.query.lower()
    if live is None or (word and not _asks_for("terminal:", word)):
        return
    for process in (await live.environment.list_processes())[-MAX_EACH:]:
        label = f"terminal:{process.id}"
        if label.startswith(word) or not word:
            part = wire.TerminalTextInput(name=process.id)
            yield wire.Completion(
                kind="terminal", label=label, detail=" ".join(process.command.split()), part=part
            )


def _asks_for(name: str, word: str) -> bool:
    """Return whether the typed word asks for a kind of mention; `name` is its prefix, for example "commit:".

    True if the word starts with the prefix, or has at least three characters and is a start of the prefix.
    """
    return word.startswith(name) or (len(word) > 2 and name.startswith(word))


async def symbols(context: Context, folder: str, query: str) -> Sequence[wire.Completion]:
    """Return symbols of the folder; none if the editor gives no access to its language servers, or if they
    are slow.
    """
    query = query.removeprefix("symbol:")
    language = context.host.language
    if len(query) < MIN_SYMBOL_CHARS or "symbols" not in language.supported_queries():
        return ()
    found: Sequence[Symbol] = ()
    with anyio.move_on_after(SYMBOLS_WAIT_S):
        try:
            found = (await language.symbols_named(query)).symbols
        except NoAnswerError:
            return ()
    items: dict[str, wire.Completion] = {}
    for symbol in found:
        place = symbol.place
        if not place.is_file or not (name := relative_to_folder(place.name, folder)):
            continue
        label = f"symbol:{'_'.join(symbol.name.split())}"
        label = f"{label}:{name}" if label in items else label
        part = wire.SymbolInput(
            name=symbol.name,
            uri=to_lsp.uri(place.name),
            start_line=place.line,
            end_line=max(symbol.end_line, place.line),
        )
        detail = f"{symbol.kind}, {basename(name)}:{place.line + 1}"
        items.setdefault(label, wire.Completion(kind="symbol", label=label, detail=detail, part=part))
        if len(items) == MAX_EACH:
            break
    return [*items.values()]
