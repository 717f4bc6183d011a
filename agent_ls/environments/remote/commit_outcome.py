"""Find out which files a commit wrote before the connection to the other machine was lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_ls.environments.base import FileWrite
from agent_ls.environments.errors import EnvError, EnvironmentLostError


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """The writes of a commit, grouped by the current content of each file.

    `done`: the new content. `not_begun`: still the old content. `unknown`: neither content, or unreadable.
    """

    done: tuple[FileWrite, ...] = ()
    not_begun: tuple[FileWrite, ...] = ()
    unknown: tuple[FileWrite, ...] = ()

    @property
    def is_done(self) -> bool:
        return not self.not_begun and not self.unknown

    @property
    def is_untouched(self) -> bool:
        return not self.done and not self.unknown

    @property
    def is_partly_done(self) -> bool:
        return bool(self.done and self.not_begun) and not self.unknown


async def compare_writes(
    writes: Sequence[FileWrite], content: Callable[[str], Awaitable[bytes | None]]
) -> CommitOutcome:
    """Compare the content of each file with its write. `content` reads a file, or returns None if it is
    missing.

    Raises:
        EnvironmentLostError: the connection was lost again.
    """
    done: list[FileWrite] = []
    not_begun: list[FileWrite] = []
    unknown: list[FileWrite] = []
    for write in writes:
        try:
            found = await content(write.path)
        except EnvironmentLostError:
            raise
        except EnvError:
            unknown.append(write)
            continue
        (done if found == write.content else not_begun if found == write.base else unknown).append(write)
    return CommitOutcome(tuple(done), tuple(not_begun), tuple(unknown))


def lost_commit(
    first: EnvironmentLostError, outcome: CommitOutcome, again: EnvironmentLostError | None
) -> EnvironmentLostError:
    """Return the error that lists the known state of each file.

    `first` is the connection loss during the commit; `again` is a second loss during the check afterwards, or
    None.
    """
    known = (
        ("Written: {}.", outcome.done),
        ("Not written: {}.", outcome.not_begun),
        ("It is unknown whether these files were written: {}.", outcome.unknown),
    )
    words = [text.format(", ".join(it.path for it in files)) for text, files in known if files]
    if again:
        words.insert(0, f"Connecting again failed: {again.sentence}")
    hint = "Read these files again before you change them."
    return EnvironmentLostError(" ".join((first.sentence, *words)), hint)
