"""Apply patches to files in memory: a dict of texts by path."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import ChangeSet
from agent_ls.patch.v4a_apply import Contents, lexical_path, parse, plan

World = dict[str, str]


def apply_patch(
    text: str, read: Callable[[str], Contents], resolve: Callable[[str], str] = lexical_path
) -> ChangeSet:
    """Parse and plan a patch. `read` gets resolved paths; `plan` reports paths that are refused."""
    parsed = parse(text)
    files: dict[str, Contents] = {}
    for path in parsed.paths:
        try:
            resolved = resolve(path)
        except PatchError:
            continue
        files[resolved] = read(resolved)
    return plan(parsed, files, resolve)


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(body: str, path: str = "f") -> str:
    """Return a patch that updates one file with these chunk lines."""
    return patch(f"*** Update File: {path}", *body.split("\n"))


def change_set(text: str, world: World) -> ChangeSet:
    def read(path: str) -> Contents:
        return encoded(world[path]) if path in world else None

    return apply_patch(text, read)


def applied(text: str, world: World) -> World:
    """Return the files after the patch; `world` is not changed."""
    after = {path: encoded(content) for path, content in world.items()}
    for write in change_set(text, world).writes:
        assert write.before == after.get(write.path)
        if write.after is None:
            del after[write.path]
        else:
            after[write.path] = write.after
    return {path: decoded(content) for path, content in after.items()}


def updated(body: str, before: str) -> str:
    """Return the file `f` after an update with these chunk lines."""
    return applied(update(body), {"f": before})["f"]


def refused(text: str, world: World) -> PatchError:
    try:
        result = applied(text, world)
    except PatchError as error:
        return error
    raise AssertionError(f"was applied: {result}")


def rules(text: str, world: World) -> set[str]:
    """Return the recovery rules that were used."""
    return {repair.rule for repair in change_set(text, world).repairs}


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
