"""A session that acted in an environment of the program is resumed only there, never on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.services.errors import BadChoiceError

pytestmark = pytest.mark.req("H13", "X1")

WRITE = ("write_file", {"file_path": "n.txt", "content": "x\n"})


def opening(tmp_path: Path, **given: Any) -> agent_ls.SessionOpening:
    common: dict[str, Any] = {"state_dir": tmp_path / "state", "trusted": True, "mode": "edits"}
    model = agent_ls.ScriptedModel(WRITE, "Done.")
    return agent_ls.open_session(provider="test", adapters={"test": model}, **common, **given)


async def written(tmp_path: Path, environment: agent_ls.ExecutionEnvironment) -> str:
    async with opening(tmp_path, environment=environment) as session:
        assert await session.ask("go") == "Done."
        return session.id


@pytest.mark.parametrize("folder", ["project", "nowhere"])
async def test_without_its_environment_a_session_is_not_resumed(tmp_path: Path, folder: str) -> None:
    real = tmp_path / "project"
    real.mkdir()
    (real / "n.txt").write_text("x\n")
    session_id = await written(
        tmp_path, agent_ls.MemoryEnvironment({}, working_directory=str(tmp_path / folder))
    )
    with pytest.raises(BadChoiceError):
        await opening(tmp_path, resume=session_id)
    assert (real / "n.txt").read_text() == "x\n"


async def test_an_environment_with_another_folder_is_refused(tmp_path: Path) -> None:
    session_id = await written(tmp_path, agent_ls.MemoryEnvironment({}, working_directory="/here"))
    with pytest.raises(BadChoiceError) as refused:
        await opening(
            tmp_path,
            resume=session_id,
            environment=agent_ls.MemoryEnvironment({}, working_directory="/there"),
        )
    assert "/here" in str(refused.value)
    same = agent_ls.MemoryEnvironment({"n.txt": "x\n"}, working_directory="/here")
    async with opening(tmp_path, resume=session_id, environment=same) as session:
        assert session.id == session_id


class OwnLocal(agent_ls.LocalEnvironment):
    """A class of a program, which may refuse what its base class allows."""


@pytest.mark.parametrize(
    "wrap",
    [
        agent_ls.ForwardingEnvironment,
        agent_ls.ReadOnlyEnvironment,
        lambda local: agent_ls.LoggingEnvironment(agent_ls.ForwardingEnvironment(local), print),
        lambda local: OwnLocal(local.working_directory()),
    ],
)
async def test_a_session_of_this_machine_in_a_wrapper_is_not_resumed_without_one(
    wrap: Callable[[agent_ls.LocalEnvironment], agent_ls.ExecutionEnvironment], tmp_path: Path
) -> None:
    local = agent_ls.LocalEnvironment(tmp_path)
    session_id = await written(tmp_path, wrap(local))
    with pytest.raises(BadChoiceError) as refused:
        await opening(tmp_path, resume=session_id)
    assert refused.value.hint
    async with opening(tmp_path, resume=session_id, environment=wrap(local)) as session:
        assert session.id == session_id


async def test_a_session_of_a_plain_local_environment_is_resumed_without_it(tmp_path: Path) -> None:
    session_id = await written(tmp_path, agent_ls.LocalEnvironment(tmp_path))
    async with opening(tmp_path, resume=session_id) as session:
        assert session.id == session_id


async def test_a_stored_session_without_the_mark_of_a_wrapper_is_still_resumed(tmp_path: Path) -> None:
    session_id = await written(tmp_path, agent_ls.ForwardingEnvironment(agent_ls.LocalEnvironment(tmp_path)))
    [stored] = (tmp_path / "state").rglob(f"*{session_id}*/*.jsonl")
    log = stored.read_text()
    assert ',"ownEnvironment":true' in log
    stored.write_text(log.replace(',"ownEnvironment":true', ""))
    async with opening(tmp_path, resume=session_id) as session:
        assert session.id == session_id
