"""Which skills and commands are found, under which names, and which are left out with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.environments.instruction_files import MAX_BYTES
from agent_ls.features.skills.loader import _read_again
from tests.features.skills.folders import command, load, skill


@pytest.mark.req("T12")
def test_skills_of_the_user_and_of_a_trusted_project_are_found(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for folder in (".agents/skills", ".claude/skills", "state/skills"):
        skill(home / folder, f"user-{folder.split('/')[0].strip('.')}")
    for folder in (".claude/skills", ".github/skills", ".agents/skills", ".agent-ls/skills"):
        skill(project / folder, f"project-{folder.split('/')[0].strip('.')}")
    found = load(home, project)
    assert {(it.name, it.origin) for it in found.found} == {
        ("user-agents", "user"),
        ("user-claude", "user"),
        ("user-state", "user"),
        ("project-claude", "project"),
        ("project-github", "project"),
        ("project-agents", "project"),
        ("project-agent-ls", "project"),
    }
    assert not found.problems


@pytest.mark.req("T12")
def test_skills_of_an_untrusted_project_are_not_listed(home: Path, tmp_path: Path) -> None:
    skill(home / ".agents/skills", "mine")
    skill(tmp_path / "project/.agents/skills", "theirs")
    assert [it.name for it in load(home).found] == ["mine"]


def test_skill_folders_of_other_products_are_skipped_if_the_setting_is_off(
    home: Path, tmp_path: Path
) -> None:
    skill(home / ".agents/skills", "ours")
    skill(home / ".claude/skills", "claude")
    command(home / ".codex/prompts/codex.md", "Do it.")
    assert [it.name for it in load(home, foreign=False).found] == ["ours"]
    assert not load(home, enabled=False).found


def test_skills_are_loaded_up_to_the_repository_root_and_the_nearest_of_equal_name_is_used(
    home: Path, tmp_path: Path
) -> None:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    inner = root / "packages/web"
    above = skill(root / ".agents/skills", "build", "Builds all. Use it at the root.")
    near = skill(inner / ".agents/skills", "build", "Builds the web. Use it there.")
    skill(tmp_path / ".agents/skills", "outside")
    found = load(home, inner)
    assert [(it.name, it.path) for it in found.found] == [("build", str(near))]
    assert [it for it in found.problems if str(above) in it and str(near) in it]


def test_unterminated_front_matter_and_invalid_booleans_are_reported(home: Path) -> None:
    unclosed = command(home / ".agents/skills/unclosed/SKILL.md", "---\ndescription: Does it.\nText.\n")
    secret = skill(home / ".agents/skills", "secret", disable_model_invocation='"true"')
    assert load(home).problems == [
        f"{secret}: its row `disable-model-invocation` is ignored, because its value is neither true nor false.",
        f"{unclosed}: the file has no front matter: lines such as `name: value` between two lines `---`.",
    ]


def test_a_wrong_name_is_a_warning_and_a_missing_description_excludes_the_skill(home: Path) -> None:
    skill(home / ".agents/skills", "right").rename(home / ".agents/skills/right/SKILL.md")
    (home / ".agents/skills/right").rename(home / ".agents/skills/other")
    bare = command(home / ".agents/skills/bare/SKILL.md", "---\nname: bare\n---\nText.\n")
    broken = command(home / ".agents/skills/broken/SKILL.md", "---\n- [\n---\nText.\n")
    large = command(home / ".agents/skills/large/SKILL.md", "x" * (MAX_BYTES + 1))
    found = load(home)
    assert [it.name for it in found.found] == ["right"]
    reasons = {
        path: next(it for it in found.problems if it.startswith(str(path))) for path in (bare, broken, large)
    }
    assert "no description" in reasons[bare] and "YAML" in reasons[broken] and "longer" in reasons[large]
    assert any("name of its" in it for it in found.problems)


def test_link_that_leaves_the_folder_of_a_project_is_not_followed(home: Path, tmp_path: Path) -> None:
    target = skill(tmp_path / "elsewhere", "stolen")
    project = tmp_path / "project"
    skills = project / ".agents/skills"
    skill(skills, "kept")
    os.symlink(target.parent, skills / "linked")
    (skills / "file").mkdir()
    os.symlink(target, skills / "file/SKILL.md")
    os.symlink(skills / "kept", skills / "again")
    assert {it.name for it in load(home, project).found} == {"kept"}


@pytest.mark.req("T12", "X6")
def test_project_folder_that_is_a_link_to_the_outside_is_not_searched(home: Path, tmp_path: Path) -> None:
    skill(home / "private", "mine")
    project = tmp_path / "project"
    (project / ".agents").mkdir(parents=True)
    (project / ".agents/skills").symlink_to(home / "private")
    (project / ".claude").symlink_to(home)
    assert not load(home, project).found


def test_file_is_read_again_when_it_changes_and_only_then(home: Path) -> None:
    path = skill(home / ".agents/skills", "one", "First.")
    skill(home / ".agents/skills", "two")
    load(home)
    before = _read_again.cache_info()
    assert next(it.description for it in load(home).found) == "First."
    assert _read_again.cache_info().misses == before.misses
    path.write_text(path.read_text().replace("First.", "Second one."))
    assert next(it.description for it in load(home).found) == "Second one."
    assert _read_again.cache_info().misses == before.misses + 1


def test_commands_of_all_formats_are_named_by_their_paths(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    command(
        project / ".claude/commands/git/commit.md",
        "---\ndescription: Commits\nargument-hint: '[text]'\n---\nCommit.",
    )
    command(project / ".github/prompts/release.prompt.md", "---\ndescription: Releases\n---\nRelease.")
    command(project / ".gemini/commands/plan.toml", 'description = "Plans"\nprompt = "Plan {{args}}"\n')
    command(project / ".cursor/commands/tidy.md", "# Tidy up\n\nTidy the code.")
    command(project / ".gemini/commands/empty.toml", "description = 'No prompt'\n")
    found = load(home, project)
    assert {(it.name, it.description) for it in found.found} == {
        ("git:commit", "Commits"),
        ("release", "Releases"),
        ("plan", "Plans"),
        ("tidy", "Tidy up"),
    }
    assert not found.for_model
    assert len(found.problems) == 1 and "prompt" in found.problems[0]


def test_skill_wins_over_a_command_and_a_built_in_command_is_never_hidden(home: Path) -> None:
    skill(home / ".agents/skills", "deploy")
    command(home / ".claude/commands/deploy.md", "Deploy.")
    command(home / ".claude/commands/review.md", "Review my way.")
    found = load(home)
    assert {(it.name, it.kind) for it in found.found} == {("deploy", "skill"), ("user:review", "command")}
    assert len(found.problems) == 2


@pytest.mark.req("T12")
def test_front_matter_decides_whether_the_user_and_the_model_can_use_a_skill(home: Path) -> None:
    skills = home / ".agents/skills"
    skill(skills, "for-user", disable_model_invocation="true")
    skill(skills, "for-model", user_invocable="false", allowed_tools="Bash Read")
    found = load(home)
    assert [it.name for it in found.for_model] == ["for-model"]
    assert [it.name for it in found.for_user] == ["for-user"]
    assert found.for_model[0].tools == ("Bash", "Read")


def test_a_description_that_is_too_long_is_truncated_and_reported(home: Path) -> None:
    skill(home / ".agents/skills", "wordy", "x" * 1_100)
    found = load(home)
    assert len(found.found[0].description) == 1_024 and "and is shortened" in found.problems[0]


def test_a_skill_without_a_name_gets_its_folders_name_and_is_reported(home: Path) -> None:
    command(home / ".agents/skills/plain/SKILL.md", "---\ndescription: Does it. Use it.\n---\nText.")
    found = load(home)
    assert found.found[0].name == "plain" and "no row `name`" in found.problems[0]


def test_too_many_files_are_limited_with_a_message(home: Path) -> None:
    for number in range(320):
        skill(home / ".agents/skills", f"s{number}")
    found = load(home)
    assert len(found.found) == 300
    assert any("too many" in it for it in found.problems)
