"""The review of all sessions of this process: one ledger per changed file, and the flow around it.

The rules are `review/`'s; here is who is told. Editors report what stands in open documents, environments what was
written, users their verdicts; sessions get events, and the model a notice of the verdicts at its next safe
boundary (PROTOCOL, Edits). All calls but `review` are plain and run on the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from typing import Literal, Protocol, TypeAlias

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import EnvError, PathNotFoundError
from agent_ls.loop.events import FileChange, Hunk, HunkStateChanged, RecordedEvent
from agent_ls.patch.unified import file_diff
from agent_ls.review.agent_edits import agent_edit
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change, FileLedger, open_ledger
from agent_ls.review.user_edits import user_edit
from agent_ls.review.verdicts import keep, undo_plan, undone
from agent_ls.text import DecodedText, decode, encode, looks_binary

NOTICE_HUNKS, NOTICE_CHARS = 5, 600  # enough for the model to know which; it can read the file

Verdict: TypeAlias = Literal["keep", "undo"]
By: TypeAlias = Literal["user", "editor", "agent"]


class Audience(Protocol):
    """A session as the desk needs it."""

    def emit(self, event: RecordedEvent) -> object: ...

    def notice(self, text: str) -> None:
        """For the model, at the next safe boundary."""
        ...

    @property
    def files(self) -> ExecutionEnvironment:
        """Where undone hunks are written: the session's environment, without the ledger's own wrapper."""
        ...


@dataclass(slots=True)
class _File:
    ledger: FileLedger
    recorded: set[str] = field(default_factory=set)  # calls whose change of this file is in the ledger
    undoing: tuple[str, ...] = ()


class ReviewDesk:
    """`audience` finds the live session of an id, None when it is not live."""

    def __init__(self, audience: Callable[[str], Audience | None]) -> None:
        self._audience = audience
        self._files: dict[str, _File] = {}

    # -- what editors tell

    def document_opened(self, path: str, text: str) -> None:
        self.user_edit(path, text)

    def document_closed(self, path: str) -> None:
        """What was not saved is told by the next look at the disk (`look_at_disk`)."""

    def user_edit(self, path: str, text: str | None) -> None:
        """The file's text now; what changed since the last call is the user's."""
        if (file := self._files.get(path)) and file.ledger.current_text != text:
            self._turn_page(file, user_edit(file.ledger, text), "editor")

    def agent_edit(self, path: str, before: str | None, after: str | None, attribution: Attribution) -> None:
        """A call's change of a file; told twice for the same call, the second is known already."""
        file = self._files.get(path)
        if file and attribution.call_id in file.recorded and file.ledger.current_text == after:
            return
        if file is None:
            file = self._files[path] = _File(open_ledger(path, before))
        self.user_edit(path, before)
        file.recorded.add(attribution.call_id)
        change = agent_edit(file.ledger, after, attribution)
        file.ledger = change.ledger
        self._announce_change(path, before, after, change, attribution)

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """An edit that a verdict asked for stands in the document."""
        file = self._files.get(path)
        if file is None:
            return
        self.user_edit(path, before)
        self._turn_page(file, undone(file.ledger, file.undoing), "user")
        file.undoing = ()
        self.user_edit(path, after)

    def knows_call(self, path: str, call_id: str) -> bool:
        """Whether this call's change of the file is in the ledger already."""
        file = self._files.get(path)
        return file is not None and call_id in file.recorded

    def is_known(self, path: str) -> bool:
        """Whether a ledger of this file is kept."""
        return path in self._files

    def adopt(self, ledger: FileLedger) -> None:
        """Takes a ledger that was built from a stored session, and tells what is not as it was stored."""
        file = self._files[ledger.path] = _File(ledger)
        lost = tuple(hunk for hunk in (*ledger.hunks, *ledger.closed) if hunk.state in ("gone", "stale"))
        self._turn_page(file, Change(ledger, lost), "editor")

    # -- what users ask

    def open_hunks(
        self, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
    ) -> dict[str, list[Hunk]]:
        """Hunks that await a verdict, by absolute path, in the order of their places."""
        found: dict[str, list[Hunk]] = {}
        for name, file in self._files.items():
            if path is not None and name != path:
                continue
            hunks = [
                _shown(file.ledger, hunk)
                for hunk in file.ledger.open_hunks
                if session_id in (None, hunk.session_id) and turn_id in (None, hunk.turn_id)
            ]
            if hunks:
                found[name] = hunks
        return found

    def base_text(self, path: str) -> str | None:
        """What the user has accepted of a file with hunks."""
        file = self._files.get(path)
        return file.ledger.base_text if file else None

    async def review(
        self,
        *,
        verdict: Verdict,
        hunk_ids: Sequence[str] | None = None,
        path: str | None = None,
        turn_id: str | None = None,
        session_id: str | None = None,
        comment: str = "",
        confirm: bool = False,
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """Carries out a verdict; what changed, and what was refused with the reason."""
        chosen = self.open_hunks(session_id=session_id, path=path, turn_id=turn_id)
        wanted = None if hunk_ids is None else set(hunk_ids)
        changed: list[Hunk] = []
        refused: list[tuple[str, str]] = []
        found: set[str] = set()
        for name, hunks in chosen.items():
            picked = [hunk for hunk in hunks if wanted is None or hunk.id in wanted]
            found |= {hunk.id for hunk in picked}
            if verdict == "undo" and not confirm:
                why = "you typed inside it: undo it with confirm to lose that too"
                refused += [(hunk.id, why) for hunk in picked if hunk.state == "edited"]
                picked = [hunk for hunk in picked if hunk.state != "edited"]
            if not picked:
                continue
            try:
                changed += await self._carry_out(name, picked, verdict, comment)
            except EnvError as error:
                refused += [(hunk.id, str(error)) for hunk in picked]
        refused += [(id_, self._why_closed(id_)) for id_ in sorted((wanted or set()) - found)]
        return changed, refused

    # -- inside

    async def _carry_out(self, path: str, hunks: list[Hunk], verdict: Verdict, comment: str) -> list[Hunk]:
        file = self._files[path]
        ids = tuple(hunk.id for hunk in hunks)
        if verdict == "keep":
            self._turn_page(file, keep(file.ledger, ids), "user", comment)
        else:
            await self._undo(file, path, ids, hunks[0].session_id)
        after = [h for id_ in ids if (h := file.ledger.find(id_)) and h.state in ("kept", "undone")]
        told = {hunk.id: hunk for hunk in hunks}
        for audience_id in {hunk.session_id for hunk in after}:
            mine = [told[h.id] for h in after if h.session_id == audience_id]
            if (audience := self._audience(audience_id)) and mine:
                audience.notice(_notice(path, mine, verdict, comment))
        return [_shown(file.ledger, hunk) for hunk in after]

    async def _undo(self, file: _File, path: str, ids: tuple[str, ...], session_id: str) -> None:
        audience = self._audience(session_id)
        if audience is None:
            raise EnvError("its session is closed; open it again to undo its changes")
        try:
            data: bytes | None = await audience.files.read_bytes(path)
        except PathNotFoundError:
            data = None
        decoded = decode(data) if data is not None else DecodedText("")
        self.user_edit(path, None if data is None else decoded.text)
        plan = undo_plan(file.ledger, ids)
        content = None if plan.expected is None else encode(with_fields(decoded, text=plan.expected))
        file.undoing = ids
        try:
            await audience.files.commit(
                [FileWrite(path, content, data)], Attribution(session_id=session_id, label="undo")
            )
        finally:
            if file.undoing:  # a file on disk: no editor tells of it
                waiting, file.undoing = file.undoing, ()
                await self._settle_on_disk(file, path, waiting, plan.expected, audience)

    async def _settle_on_disk(
        self, file: _File, path: str, ids: tuple[str, ...], expected: str | None, audience: Audience
    ) -> None:
        try:
            now: str | None = decode(await audience.files.read_bytes(path)).text
        except EnvError:
            now = None
        if now == expected:
            self._turn_page(file, undone(file.ledger, ids), "user")

    def _turn_page(self, file: _File, change: Change, by: By, comment: str = "") -> None:
        file.ledger = change.ledger
        by_session: dict[str, list[Hunk]] = {}
        for hunk in change.changed:
            by_session.setdefault(hunk.session_id, []).append(_shown(change.ledger, hunk))
        for session_id, hunks in by_session.items():
            if audience := self._audience(session_id):
                audience.emit(HunkStateChanged(change.ledger.path, tuple(hunks), by, comment))

    def _announce_change(
        self, path: str, before: str | None, after: str | None, change: Change, attribution: Attribution
    ) -> None:
        new = {hunk.id for hunk in change.new}
        audience = self._audience(attribution.session_id)
        if audience:
            diff = file_diff(before, after, _relative(path, audience.files.working_directory()))
            action: Literal["create", "modify", "delete"] = (
                "create" if before is None else "delete" if after is None else "modify"
            )
            hunks = tuple(_shown(change.ledger, hunk) for hunk in change.new)
            audience.emit(
                FileChange(attribution.call_id, path, action, diff.added, diff.removed, diff.text, hunks)
            )
        others = tuple(hunk for hunk in change.changed if hunk.id not in new)
        if others:
            self._turn_page(self._files[path], with_fields(change, changed=others), "agent")

    def _why_closed(self, hunk_id: str) -> str:
        for file in self._files.values():
            if hunk := file.ledger.find(hunk_id):
                return f"it is {hunk.state} already"
        return "no such hunk"


def text_of(data: bytes | None) -> str | None:
    """A file's text for the ledger; None for no file, and for one that is no text."""
    return None if data is None or looks_binary(data) else decode(data).text


def _relative(path: str, folder: str) -> str:
    """As a person names it: below the session's folder without the folder."""
    return path.removeprefix(folder.rstrip("/\\"))[1:] if path.startswith(folder) else path


def _shown(ledger: FileLedger, hunk: LedgerHunk) -> Hunk:
    return Hunk(
        id=hunk.id,
        session_id=hunk.session_id,
        turn_id=hunk.turn_id,
        call_id=hunk.call_id,
        path=ledger.path,
        what=hunk.what,
        state=hunk.state,
        base_start=hunk.base_start,
        base_end=hunk.base_end,
        start=hunk.start,
        end=hunk.end,
        base_lines=hunk.base_lines,
        lines=ledger.lines_of(hunk),
    )


def _notice(path: str, hunks: Sequence[Hunk], verdict: Verdict, comment: str) -> str:
    """What the model is told of a verdict: compact, and with the text that is not there any more."""
    because = f" The user says: {comment}" if comment else ""
    if verdict == "keep":
        return f"Review: the user kept {len(hunks)} of your changes in {path}.{because}"
    parts = [
        f"Review: the user undid {len(hunks)} of your changes in {path}.{because}",
        "Do not make them again unless asked.",
    ]
    for hunk in hunks[:NOTICE_HUNKS]:
        gone = "".join(hunk.lines)[:NOTICE_CHARS].rstrip("\n")
        there = f"No longer there (near line {hunk.start + 1}):\n{gone}"
        parts.append(there if gone else f"Put back near line {hunk.start + 1}: the lines you had removed.")
    return "\n".join(parts)
