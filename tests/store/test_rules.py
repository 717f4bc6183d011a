from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from agent_ls.store.rules import RuleStore

pytestmark = pytest.mark.req("H7")
NOW = "2026-01-02T03:04:05.678Z"


@pytest.fixture
def here(tmp_path: Path) -> str:
    (tmp_path / "here").mkdir()
    return str(tmp_path / "here")


@pytest.fixture
def store(tmp_path: Path) -> RuleStore:
    return RuleStore(tmp_path / "state")


def test_a_project_rule_applies_under_any_path_of_the_project_and_nowhere_else(
    store: RuleStore, here: str, tmp_path: Path
) -> None:
    store.add("words:npm test", "npm test", "project", here, NOW)
    store.add("words:make all", "make all", "user", here, NOW)
    (tmp_path / "link").symlink_to(here)
    assert [rule.id for rule in store.rules(str(tmp_path / "link"))] == ["words:npm test", "words:make all"]
    assert [rule.id for rule in store.rules(str(tmp_path))] == ["words:make all"]
    assert [rule.id for rule in RuleStore(tmp_path / "state").rules()] == ["words:npm test", "words:make all"]


def test_a_rule_is_stored_once_and_its_hits_are_counted_where_it_applies(
    store: RuleStore, here: str, tmp_path: Path
) -> None:
    for _ in range(2):
        store.add("words:npm test", "npm test", "project", here, NOW)
    store.count(["words:npm test", "words:unknown"], here, NOW)
    store.count(["words:npm test"], str(tmp_path), NOW)
    (rule,) = store.rules()
    assert (rule.hits, rule.used) == (1, NOW)


def test_a_rule_is_removed_in_one_project_or_in_all(store: RuleStore, here: str, tmp_path: Path) -> None:
    for folder in (here, str(tmp_path)):
        store.add("words:npm test", "npm test", "project", folder, NOW)
    assert [rule.workspace for rule in store.remove("words:npm test", here)] == [here]
    assert len(store.rules()) == 1
    assert len(store.remove("words:npm test")) == 1 and store.rules() == []
    assert store.remove("words:npm test") == []


def test_the_rule_file_is_readable_text_and_private_to_the_user(
    store: RuleStore, here: str, tmp_path: Path
) -> None:
    store.add("words:npm test", "Allow `npm test …`", "user", here, NOW)
    path = tmp_path / "state" / "rules.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Allow `npm test …`" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        '{"version": 2, "rules": [{"id": "edits", "label": "", "scope": "user", "workspace": "", "created": ""}]}',
        '{"version": 1, "rules": {"id": "edits"}}',
        '{"version": 1, "rules": [1, null, {"id": "edits"}, {"id": 1, "label": 2, "scope": "user"}]}',
        '{"version": 1, "rules": [{"id": "edits", "label": "", "scope": "project", "workspace": "", "created": ""}]}',
        '{"version": 1, "rules": [{"id": "edits", "label": "", "scope": "all", "workspace": "", "created": ""}]}',
    ],
)
def test_a_damaged_rule_file_allows_nothing(store: RuleStore, tmp_path: Path, text: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "rules.json").write_text(text)
    assert store.rules() == []


def test_an_unknown_rule_field_from_a_later_version_is_ignored(
    store: RuleStore, here: str, tmp_path: Path
) -> None:
    store.add("words:npm test", "npm test", "user", here, NOW)
    path = tmp_path / "state" / "rules.json"
    stored = json.loads(path.read_text())
    stored["rules"][0]["color"] = "red"
    path.write_text(json.dumps(stored))
    assert [rule.id for rule in store.rules()] == ["words:npm test"]
