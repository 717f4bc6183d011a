"""Implements NestedDocuments: give the model instruction files of subfolders with its first call in a subfolder."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.paths import is_below
from agent_ls.profiles.document_lookup import NO_LOOKUP, Lookup
from agent_ls.profiles.git_snapshot import find_git_root
from agent_ls.profiles.project_docs import (
    BUDGET_BYTES,
    UNIVERSAL_DOCUMENT,
    ProjectDocument,
    build_nested_documents,
    document_mark,
    documents_in,
    folders_between,
)
from agent_ls.profiles.rule_files import PLACES, WITH_SKILLS, ScopedRule, find_rules, rule_folders

MAX_FOLDERS = 500
"""Maximum number of folders searched in a session, because each search tries several names."""


class SessionDocuments:
    """The instruction files in subfolders, for the agents of one session.

    Each agent gets each file once, and again after a compaction has removed the file's text. `project`
    returns an environment that reads no files outside of the project. `trusted` returns whether the workspace
    is trusted. `size` returns the bytes of instructions that the system prompt already contains. `known` are
    files that the main agent got in an earlier process. `keep` stores the names of all files that the main
    agent got. `lookup` finds out which names do not exist. `skills`: skills in subfolders are named with their
    descriptions.
    """

    def __init__(
        self,
        project: Callable[[], Awaitable[ExecutionEnvironment]],
        *,
        trusted: Callable[[], Awaitable[bool]],
        size: Callable[[], int],
        known: Iterable[str] = (),
        keep: Callable[[Sequence[str]], object] = lambda paths: None,
        lookup: Lookup = NO_LOOKUP,
        skills: bool = True,
    ) -> None:
        self._project = project
        self._trusted = trusted
        self._size = size
        self._keep = keep
        self._lookup = lookup
        self._places = WITH_SKILLS if skills else PLACES
        self._given: dict[str, set[str]] = {"": set(known)}
        self._looked: set[tuple[str, str]] = set()
        self._rules: dict[str, Sequence[ScopedRule]] = {}
        self._used: dict[str, int] = {}  # bytes of the instructions that agents got, by path
        self._root = ""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        """Return the instructions that apply to the files `paths` and that the agent has not got yet, or ""."""
        environment = await self._project()
        rules = ntpath if environment.platform() == "windows" else posixpath
        self._root = self._root or await find_git_root(environment, self._lookup)
        root = self._root = self._root or environment.working_directory()
        loaded = set(folders_between(root, environment.working_directory(), rules.sep))
        given = self._given.setdefault(agent_id, set())
        found: dict[str, ProjectDocument] = {}
        for path in paths:
            for rule in await self._rules_for(environment, root, path, rules.sep):
                if rule.path not in given:
                    found[rule.path] = rule
            names = {rules.join(rules.dirname(path), name) for name in (UNIVERSAL_DOCUMENT, *family)}
            if path in names:  # the call itself has read or changed this file
                given.add(rules.relpath(path, root).replace("\\", "/"))
            for folder in (
                folders_between(root, rules.dirname(path), rules.sep)
                if is_below(path, root, rules.sep)
                else ()
            ):
                key = (agent_id, folder)
                if folder in loaded or key in self._looked or len(self._looked) >= MAX_FOLDERS:
                    continue
                self._looked.add(key)
                rules_in = partial(self._rules_in, environment, rules.sep)
                for document in await documents_in(
                    environment, root, (folder,), family, rules_in, self._lookup
                ):
                    if document.path not in given:
                        found.setdefault(document.path, document)
        if not found:
            return ""
        given.update(found)
        if not agent_id:
            self._keep(sorted(given))
        documents = list(found.values())
        left = BUDGET_BYTES - self._size() - sum(self._used.values())
        if left <= 0:
            return f"[More project instructions are in {', '.join(found)}: read them before you change files there.]"
        self._used |= {document.path: len(document.text.encode("utf-8")) for document in documents}
        return build_nested_documents(documents, left, trusted=await self._trusted())

    async def _rules_for(
        self, environment: ExecutionEnvironment, root: str, path: str, separator: str
    ) -> list[ProjectDocument]:
        """Return the rules for some files that cover the file `path`."""
        matching = []
        for folder in (
            folders_between(root, path.rpartition(separator)[0], separator)
            if is_below(path, root, separator)
            else ()
        ):
            inside = path[len(folder.rstrip(separator)) + 1 :].replace("\\", "/")
            shown = folder[len(root.rstrip(separator)) + 1 :].replace("\\", "/")
            matching += [
                ProjectDocument(f"{shown}/{rule.path}" if shown else rule.path, rule.text)
                for rule in await self._rules_in(environment, separator, folder)
                if not rule.always and rule.covers(inside)
            ]
        return matching

    async def _rules_in(
        self,
        environment: ExecutionEnvironment,
        separator: str,
        folder: str,
        missing: frozenset[str] | None = None,
    ) -> Sequence[ScopedRule]:
        """Return the rules in a folder, which are read once; none after MAX_FOLDERS folders."""
        if folder not in self._rules:
            if len(self._rules) >= MAX_FOLDERS:
                return ()
            if missing is None:
                missing = await self._lookup.missing(rule_folders(folder, separator))
            self._rules[folder] = await find_rules(environment, folder, separator, missing, self._places)
        return self._rules[folder]

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        given = self._given.setdefault(agent_id, set())
        lost = {path for path in given if not any(document_mark(path) in text for text in kept)}
        given -= lost
        for path in lost:
            self._used.pop(path, None)
        self._looked = {key for key in self._looked if key[0] != agent_id}
        self._rules.clear()  # so that changed files are read again
        if not agent_id:
            self._keep(sorted(given))
