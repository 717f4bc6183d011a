"""Generated commands run confined without any policy decision, and must have no effect."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.environments.confinement.harm_world import SECRET, HarmWorld, harm_world
from tests.environments.confinement.harmful import harmful
from tests.environments.confinement.test_looking_alone import READS_OUTSIDE, looking
from tests.policy.fuzz import PARTS, commands, placed
from tests.support.sandboxes import needs_bubblewrap, needs_landlock

pytestmark = pytest.mark.req("X4", "X7", "X11")

SEED = seeded(15)
LIMIT = CommandOptions(timeout_ms=500)
# The sweep runs 20,000 commands, in parts that several workers can share.
PARTS_OF_LANDLOCK, PARTS_OF_BUBBLEWRAP = (16, 4) if IS_WHOLE else (1, 1)
KINDS = [
    *(
        pytest.param("landlock", SEED + part, 1_000 if IS_WHOLE else 40, marks=needs_landlock)
        for part in range(PARTS_OF_LANDLOCK)
    ),
    *(
        pytest.param("bubblewrap", SEED + part, 1_000 if IS_WHOLE else 12, marks=needs_bubblewrap)
        for part in range(PARTS_OF_BUBBLEWRAP)
    ),
]
DELETING = ("rm -", "shred ", "-delete", "clean -", "mv ")
"""Commands left out, because in a loop over other files they would do real harm if the confinement failed."""


def _generated(world: HarmWorld, seed: int, count: int) -> Iterator[str]:
    """Yield commands: half have a harmful payload in a random syntax node, the others come from the policy tests."""
    chance = random.Random(seed)
    payloads = [
        world.filled(template) for template in harmful() if not any(word in template for word in DELETING)
    ]
    payloads += PARTS["payloads"]
    payloads += [world.filled(template) for template in READS_OUTSIDE] * 3
    yield from placed(seed, [chance.choice(payloads) for _ in range(count // 2)])
    yield from commands(seed, count - count // 2)


def _furnish(world: HarmWorld) -> None:
    """Create the files that the generated commands name, and a secret in each file outside of the project."""
    (world.root / "outside" / "kept").write_text(f"{SECRET}\n")
    (world.root / f"{SECRET}.txt").touch()
    (world.project / "out").symlink_to(world.root / "outside")
    for name in ("a.txt", "b.txt", "names.txt", "c.json", "src/x.py"):
        (world.project / name).parent.mkdir(exist_ok=True)
        (world.project / name).write_text("x 1\n")
    for name in ("x", "bin/cat"):
        (world.project / name).parent.mkdir(exist_ok=True)
        (world.project / name).write_text('#!/bin/sh\ntouch "$(dirname "$0")/made"\n')
        (world.project / name).chmod(0o755)


@pytest.mark.sweep
@pytest.mark.timeout(1_200 if IS_WHOLE else 120)
@pytest.mark.parametrize(("kind", "seed", "count"), KINDS)
async def test_a_confined_generated_command_changes_no_file_contacts_nothing_and_reveals_no_secret(
    kind: str, seed: int, count: int, tmp_path: Path
) -> None:
    with harm_world(tmp_path / "w") as world:
        _furnish(world)
        async with looking(world, kind) as environment:
            before = world.facts()
            for command in while_in_time(_generated(world, seed, count)):
                done = await environment.exec_command(command, LIMIT)
                assert SECRET not in done.output, command
                assert world.facts() == before, command
                assert world.reached() == [], command


async def test_the_generated_commands_do_harm_without_confinement(tmp_path: Path) -> None:
    harmed = 0
    with harm_world(tmp_path / "w") as world:
        _furnish(world)
        environment = LocalEnvironment(str(world.project), limits=LocalLimits(terminate_grace_ms=100))
        await environment.initialize()
        for command in placed(SEED, ["touch made"] * 30):
            before = world.facts()
            await environment.exec_command(command, LIMIT)
            harmed += world.facts() != before
            (world.project / "made").unlink(missing_ok=True)
        await environment.cleanup()
    assert harmed > 10
