"""Pure: derive the files that a call touches from its effect."""

from __future__ import annotations

from agent_ls.environments.effects import Effect, ReadEffect, WriteEffect


def touched_files(effect: Effect) -> tuple[str, ...]:
    """Return the files that a call reads or changes, and the folders that it searches."""
    match effect:
        case ReadEffect(paths):
            return tuple(paths)
        case WriteEffect(files):
            return tuple(file.path for file in files)
        case _:
            return ()
