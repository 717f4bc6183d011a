"""Rules that the user stored for one project or for all projects. The file is in the user's state folder, not
in a repository.

ROOT/rules.json     {"version": 1, "rules": [{"id", "label", "scope", "workspace", "created", …}]}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agent_ls.store.json_list import JsonList
from agent_ls.store.layout import Layout, canonical
from agent_ls.store.shown import digest_shown


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A stored rule. `workspace` is a canonical path, "" for scope `user`. Times are ISO 8601, "" for never.

    `label` is the text that was displayed when the user accepted the rule, with its `digest` ("" in older entries).
    """

    id: str
    label: str
    scope: Literal["project", "user"]
    workspace: str
    created: str
    hits: int = 0
    used: str = ""
    digest: str = ""


class RuleStore:
    """Stored rules.

    The file is read again at each use, because other processes may change it. Invalid entries are ignored.
    Methods block.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._list = JsonList(Layout(root).root, "rules")

    def rules(self, workspace: str | None = None) -> Sequence[StoredRule]:
        """Return the rules that apply in `workspace`, or all rules if it is None, oldest first."""
        found = _rules(self._list.read())
        if workspace is None:
            return found
        place = canonical(workspace)
        return [rule for rule in found if rule.scope == "user" or rule.workspace == place]

    def add(
        self, rule_id: str, label: str, scope: Literal["project", "user"], workspace: str, now: str
    ) -> None:
        """Store a rule if it is not stored yet.

        Raises:
            OSError: the file cannot be written.
        """
        place = canonical(workspace) if scope == "project" else ""
        rule = StoredRule(rule_id, label, scope, place, now, digest=digest_shown(label))

        def added(rules: Sequence[StoredRule]) -> Sequence[StoredRule]:
            is_known = any(_key(known) == _key(rule) for known in rules)
            return rules if is_known else [*rules, rule]

        self._change(added)

    def remove(self, rule_id: str, workspace: str | None = None) -> Sequence[StoredRule]:
        """Delete the rules with this id. With `workspace`, only the rules of that project are deleted.
        Returns the deleted rules.

        Raises:
            OSError: the file cannot be written.
        """
        place = None if workspace is None else canonical(workspace)
        removed: list[StoredRule] = []

        def left(rules: Sequence[StoredRule]) -> Sequence[StoredRule]:
            removed.extend(r for r in rules if r.id == rule_id and place in (None, r.workspace))
            return [rule for rule in rules if rule not in removed]

        self._change(left)
        return removed

    def count(self, ids: Collection[str], workspace: str, now: str) -> None:
        """Count one use of each rule in `ids` that applies in `workspace`. Disk errors are ignored: only the
        count is lost.
        """
        place = canonical(workspace)

        def counted(rules: Sequence[StoredRule]) -> Sequence[StoredRule]:
            return [
                replace(rule, hits=rule.hits + 1, used=now)
                if rule.id in ids and rule.workspace in ("", place)
                else rule
                for rule in rules
            ]

        try:
            self._change(counted)
        except OSError:
            return

    def _change(self, change: Callable[[Sequence[StoredRule]], Sequence[StoredRule]]) -> None:
        self._list.change(lambda entries: [asdict(rule) for rule in change(_rules(entries))])


def _rules(entries: Sequence[Any]) -> list[StoredRule]:
    return [rule for entry in entries if (rule := _rule(entry))]


def _key(rule: StoredRule) -> tuple[str, str, str]:
    return rule.id, rule.scope, rule.workspace


def _rule(entry: Any) -> StoredRule | None:
    """Return the rule in an entry of the file, None if the entry is invalid."""
    if not isinstance(entry, dict):
        return None
    try:
        rule = StoredRule(**{name: entry[name] for name in StoredRule.__slots__ if name in entry})
    except TypeError:
        return None
    texts = (rule.id, rule.label, rule.workspace, rule.created, rule.used, rule.digest)
    is_whole = all(isinstance(text, str) for text in texts) and isinstance(rule.hits, int)
    is_placed = (rule.scope == "user") == (rule.workspace == "")
    return rule if is_whole and rule.id and rule.scope in ("project", "user") and is_placed else None
