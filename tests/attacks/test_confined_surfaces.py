"""Code, fillings, listings and scripts write nothing and reveal nothing where they run confined, without a policy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from tests.attacks import IS_WHOLE, codes, fillings, listings, scripts, seeded, while_in_time
from tests.environments.confinement.test_looking_alone import looking
from tests.policy.fuzz import SECRET, Scratch
from tests.support.sandboxes import needs_bubblewrap, needs_landlock

LIMIT = CommandOptions(timeout_ms=1_000)
BATCH = 25
"""Number of lines between two looks at all files."""


def _of_scripts(seed: int, count: int) -> Iterator[str]:
    for awk, sed in zip(scripts.awk_programs(seed, count), scripts.sed_scripts(seed, count), strict=False):
        yield from (f"{' '.join(words)} {shlex.quote(awk)} a.txt" for words in scripts.AWKS)
        yield from (f"{' '.join(words)} {shlex.quote(sed)} a.txt" for words in scripts.SEDS)


SURFACES: dict[str, Callable[[int, int], Iterator[str]]] = {
    "codes": codes.lines,
    "fillings": fillings.lines,
    "listings": listings.pipelines,
    "scripts": _of_scripts,
}
KINDS = [
    pytest.param("landlock", marks=needs_landlock),
    pytest.param("bubblewrap", marks=needs_bubblewrap),
]


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a session in a scratch folder."""

    project: Path
    home: Path
    state: Path


def _furnished(folder: Path) -> tuple[Scratch, Place]:
    """Return a scratch folder in which only files outside of the workspace hold the secret."""
    scratch = Scratch(folder / "scratch")
    scratch.build()
    (scratch.work / ".env").write_text("KEY=ours\n")
    state = folder / "state"
    state.mkdir()
    return scratch, Place(scratch.work, scratch.folder / "home", state)


@pytest.mark.req("X7", "X11", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(7_200 if IS_WHOLE else 300)
@pytest.mark.parametrize("part", range(10 if IS_WHOLE else 1))
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_confined_attack_without_a_policy_has_no_effect(
    kind: str, surface: str, part: int, tmp_path: Path
) -> None:
    scratch, place = _furnished(tmp_path)
    count = 1_000 if IS_WHOLE else 30
    lines = islice(while_in_time(SURFACES[surface](seeded(6_000 + part), count)), count)
    async with looking(place, kind) as environment:
        before = scratch.snapshot()
        while batch := tuple(islice(lines, BATCH)):
            for line in batch:
                done = await environment.exec_command(line, LIMIT)
                assert SECRET not in done.output, line
            if scratch.snapshot() != before:
                assert [line for line in batch if await _changes(scratch, environment, line)] == []
                pytest.fail(f"one of these lines changed a file: {batch}")


async def _changes(scratch: Scratch, environment: SandboxedEnvironment, line: str) -> bool:
    before = scratch.snapshot()
    await environment.exec_command(line, LIMIT)
    return scratch.snapshot() != before


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c \"open('made', 'w')\"",
        "find . -name link -exec sh -c 'cat \"$1\"' _ {} \\;",
        "cat names.txt | xargs cat",
        "awk 'BEGIN { system(\"touch made\") }'",
    ],
)
def test_an_attack_on_a_surface_has_an_effect_without_confinement(line: str, tmp_path: Path) -> None:
    scratch, _ = _furnished(tmp_path)
    before = scratch.snapshot()
    assert SECRET.encode() in scratch.run(line) or scratch.snapshot() != before
