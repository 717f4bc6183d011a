"""The facts that a model is told of where it works, gathered once per session (000 sections 6.3 and 6.4)."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.git_snapshot import GitSnapshot, git_snapshot

SHORT_NAME_CHARS = 10  # of a commit


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What does not change within a session, so that the prompt stays the same bytes (O4, O6)."""

    working_directory: str
    platform: str
    os_version: str
    today: str
    git: GitSnapshot


async def environment_facts(
    environment: ExecutionEnvironment, *, today: str, trusted: bool
) -> EnvironmentFacts:
    """`today` as YYYY-MM-DD. `trusted`: the user trusts this workspace, so git may be run in it (O4)."""
    return EnvironmentFacts(
        environment.working_directory(),
        environment.platform(),
        environment.os_version(),
        today,
        await git_snapshot(environment, trusted=trusted),
    )


def environment_block(facts: EnvironmentFacts, profile: ProviderProfile) -> str:
    git = facts.git
    rows = [
        ("Working directory", facts.working_directory),
        ("Is git repository", "true" if git.root else "false"),
        ("Git branch", _branch(git)),
        ("Git HEAD", git.head[:SHORT_NAME_CHARS]),
        ("Platform", facts.platform),
        ("OS version", facts.os_version),
        ("Today's date", facts.today),
        ("Model", profile.display_name or profile.model),
        ("Knowledge cutoff", profile.knowledge_cutoff),
    ]
    lines = [f"{name}: {one_line(value)}" for name, value in rows if value]
    return "\n".join(["<environment>", *lines, *_history(git), "</environment>"])


def _branch(git: GitSnapshot) -> str:
    if git.branch or not git.root:
        return git.branch
    return "none (detached HEAD)"


def _history(git: GitSnapshot) -> list[str]:
    if git.changed is None and not git.commits:
        return []
    lines = ["", "Git at the start of the session (run git for the state now):"]
    if git.changed is not None:
        lines.append(f"Status: {git.changed} changed, {git.untracked or 0} untracked")
    if git.commits:
        lines += ["Recent commits:", *(f"- {one_line(commit)}" for commit in git.commits)]
    return lines


def one_line(text: str) -> str:
    """Names of folders, branches and commits are other people's text: they get no line, and no tag, of their own."""
    return " ".join(text.split()).replace("<", "‹").replace(">", "›")
