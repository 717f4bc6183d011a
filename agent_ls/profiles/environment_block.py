"""The part of the system prompt that describes the environment. Its contents are gathered once per session."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.profiles.document_lookup import NO_LOOKUP, Lookup
from agent_ls.profiles.git_snapshot import GitSnapshot, take_git_snapshot

SHORT_NAME_CHARS = 10  # characters of a displayed commit id


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """The environment's properties. They do not change within a session, so that the prompt keeps the same
    bytes. `temporary` is the folder for temporary files of commands, "" if it is not known.
    """

    working_directory: str
    platform: str
    os_version: str
    today: str
    git: GitSnapshot
    temporary: str = ""


async def gather_environment_facts(
    environment: ExecutionEnvironment, *, today: str, trusted: bool, lookup: Lookup = NO_LOOKUP
) -> EnvironmentFacts:
    """Gather the facts. `today` is YYYY-MM-DD. `trusted`: the user trusts the workspace, so git may run there."""
    return EnvironmentFacts(
        environment.working_directory(),
        environment.platform(),
        environment.os_version(),
        today,
        await take_git_snapshot(environment, trusted=trusted, lookup=lookup),
    )


def build_environment_block(facts: EnvironmentFacts, *, model: str, knowledge_cutoff: str) -> str:
    """Render the facts as text. `model` is the model's display name. An empty `knowledge_cutoff` is left out."""
    git = facts.git
    rows = [
        ("Working directory", facts.working_directory),
        ("Folder for temporary files (TMPDIR)", facts.temporary),
        ("Is git repository", "true" if git.root else "false"),
        ("Git branch", _branch(git)),
        ("Git HEAD", git.head[:SHORT_NAME_CHARS]),
        ("Unfinished git operation", git.operation),
        ("Platform", facts.platform),
        ("OS version", facts.os_version),
        ("Today's date", facts.today),
        ("Model", model),
        ("Knowledge cutoff", knowledge_cutoff),
    ]
    lines = [f"{name}: {escape_line(value)}" for name, value in rows if value]
    return "\n".join(["<environment>", *lines, *_history(git), "</environment>"])


def _branch(git: GitSnapshot) -> str:
    if git.branch or not git.root:
        return git.branch
    return "none (detached HEAD)"


def _history(git: GitSnapshot) -> list[str]:
    if git.changed is None and not git.commits:
        return []
    lines = ["", "Git state at the start of the session (run git to get the current state):"]
    if git.changed is not None:
        lines.append(f"Status: {git.changed} changed, {git.untracked or 0} untracked")
    if git.commits:
        lines += ["Recent commits:", *(f"- {escape_line(commit)}" for commit in git.commits)]
    return lines


def escape_line(text: str) -> str:
    """Escape names of folders, branches and commits, which are untrusted: no line breaks and no tags."""
    return " ".join(text.split()).replace("<", "‹").replace(">", "›")
