"""The folders of a session that settings add or deny, the folder for temporary files, and the state folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agent_ls.environments.effects import Effect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.environments.errors import AccessDeniedError
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Judgement, Refuse, Situation
from agent_ls.services.permissions.paths import PathBounds, places_of, read_effect_facts
from agent_ls.services.settings.model import PathSettings, parse_settings

pytestmark = pytest.mark.req("X6")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "tmp"
    for made in (tmp_path / "work", tmp_path / "data", tmp_path / "state", temporary):
        made.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)  # Python caches this value at its first use
    return tmp_path / "work"


def settings(**paths: object) -> PathSettings:
    parsed, problems = parse_settings({"paths": paths})
    assert not problems
    return parsed.paths


def places(work: Path, **paths: object) -> Places:
    return places_of(str(work), settings=settings(**paths), state=str(work.parent / "state"))


def written(path: Path, found: Places) -> Judgement:
    effect = WriteEffect((PlannedWrite(str(path), "create", "", "k"),))
    return judged(effect, found)


def judged(effect: Effect, found: Places) -> Judgement:
    return judge(effect, Situation("edits", found, resolved=read_effect_facts(effect, found).resolved))


def test_a_folder_added_in_settings_counts_as_inside_the_workspace(work: Path) -> None:
    data = work.parent / "data"
    assert isinstance(written(data / "a", places(work)), Ask)
    assert isinstance(written(data / "a", places(work, roots=[str(data)])), Allow)
    assert isinstance(written(work.parent / "a", places(work, roots=[str(data), "data", ""])), Ask)


def test_a_denied_path_is_refused_through_a_link_and_below_an_added_folder(work: Path) -> None:
    data = work.parent / "data"
    (data / "private").mkdir()
    (work / "link").symlink_to(data / "private")
    found = places(work, roots=[str(data)], denied=[str(data / "private"), "keys"])
    for path in (data / "private" / "a", work / "link" / "a", work / "keys" / "a"):
        assert isinstance(written(path, found), Refuse)
        assert isinstance(judged(ReadEffect((str(path),)), found), Refuse)
        with pytest.raises(AccessDeniedError):
            PathBounds(found).check_readable(str(path))


@pytest.mark.skipif(os.name == "nt", reason="folders have no modes there")
def test_the_agents_temporary_folder_is_private_and_counts_as_inside_the_workspace(work: Path) -> None:
    folder = work.parent / "tmp" / f"agent-ls-{os.getuid()}"
    assert isinstance(written(folder / "a", places(work)), Allow)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert isinstance(written(folder.parent / "a", places(work)), Ask)
    assert isinstance(written(folder / "a", places(work, temporary="off")), Ask)


@pytest.mark.skipif(os.name == "nt", reason="folders have no modes there")
def test_a_temporary_folder_that_is_shared_or_a_symlink_is_outside_the_workspace(work: Path) -> None:
    folder = work.parent / "tmp" / f"agent-ls-{os.getuid()}"
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    assert isinstance(written(folder / "a", places(work)), Ask)
    folder.rmdir()
    folder.symlink_to(work.parent / "data")
    assert isinstance(written(folder / "a", places(work)), Ask)


def test_a_temporary_folder_set_in_settings_counts_as_inside_the_workspace(work: Path) -> None:
    data = work.parent / "data"
    assert isinstance(written(data / "a", places(work, temporary=str(data))), Allow)


def test_state_folder_is_not_read_even_inside_the_workspace(work: Path) -> None:
    state = work / "state"
    state.mkdir()
    (state / "keys.json").write_text("{}")
    (work / "link").symlink_to(state)
    found = places_of(str(work), settings=settings(), state=str(state))
    for path in (state / "keys.json", work / "link" / "keys.json"):
        assert isinstance(judged(ReadEffect((str(path),)), found), Refuse)
        assert isinstance(written(path, found), Ask)
        with pytest.raises(AccessDeniedError, match="keys, rules and sessions"):
            PathBounds(found).check_readable(str(path))
