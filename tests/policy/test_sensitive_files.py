"""Files that control other programs, and the state folder: which accesses need approval in which modes."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Refuse, Situation

PLACES = Places(("/w",), "/home/u", state="/home/u/.local/state/agent-ls")
STATE = f"{PLACES.state}/rules.json"
MODES: tuple[Mode, ...] = ("ask", "edits", "full")


def written(path: str) -> WriteEffect:
    return WriteEffect((PlannedWrite(path, "modify", "", "k"),))


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    "name",
    [
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".devcontainer/devcontainer.json", ".cursor/mcp.json",
        ".claude/settings.json", ".gemini/settings.json", ".zed/tasks.json", ".helix/config.toml", ".nvim.lua",
        ".nvimrc", ".exrc", ".dir-locals.el", ".kateproject", ".projectile", "a.sublime-project", ".fleet/run.json",
        "conftest.py", "sitecustomize.py", "lefthook.yml", ".travis.yml", "azure-pipelines.yml",
        ".cargo/config.toml", ".tool-versions", "mise.toml", ".gitattributes", "pkg/deep/conftest.py", "sub/.NPMRC",
        "vendor/.cargo/config", "x.code-workspace", ".pylintrc", ".gdbinit", "opencode.json",
        "bitbucket-pipelines.yml", "nested.pth", ".flake8", "mypy.ini", "babel.config.js", "jest.config.ts",
        "vitest.config.mts", "playwright.config.ts", "svelte.config.js", ".bsp/sbt.json", "hie.yaml", ".merlin",
        "rust-project.json", ".golangci.yml", "src/.lintr", ".RData", ".formatter.exs", ".php-cs-fixer.dist.php",
        "phpstan.neon.dist", ".ropeproject/config.py", "pyvenv.cfg", "python311._pth", "tools/bazel",
        "Directory.Build.targets", ".lfsconfig", "commitlint.config.js", ".readthedocs.yaml", "lean-toolchain",
        ".replit", ".openhands/setup.sh", ".factorypath", "analysis_options.yaml", "config.nims", ".sdkmanrc",
        ".screenrc", ".ssh/config", ".ssh/authorized_keys", ".config/tmux/tmux.conf", ".bashrc.d/a", ".lftprc",
        ".config/environment.d/a.conf", ".config/kitty/kitty.conf", ".xbindkeysrc", ".config/sway/config", ".forward",
    ],
)  # fmt: skip
def test_a_file_that_controls_other_programs_needs_approval_in_every_mode_but_full(name: str) -> None:
    effect = written(f"/w/{name}")
    asked = judge(effect, Situation("edits", PLACES))
    assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode
    assert isinstance(judge(effect, Situation("ask", PLACES, frozenset(["edits"]))), Ask)
    assert isinstance(judge(effect, Situation("full", PLACES)), Allow)


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    "name",
    [
        ".git/config", ".git/hooks/pre-commit", ".GIT/config", ".g\u200cit/config", ".github/workflows/ci.yml",
        ".vscode/a", ".idea/a", ".husky/pre-commit", ".pre-commit-config.yaml", ".gitlab-ci.yml",
        ".circleci/config.yml", "Jenkinsfile", ".envrc", ".mcp.json", ".agent-ls/x", ".codex/config.toml",
        ".gitmodules", ".zlogin", ".bash_login", "home/.config/fish/conf.d/a.fish", "home/.config/git/config",
    ],
)  # fmt: skip
def test_file_of_git_ci_editors_shells_and_agents_is_asked_about_in_mode_full(name: str) -> None:
    asked = judge(written(f"/w/{name}"), Situation("full", PLACES))
    assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    "name",
    [
        "Makefile",
        "package.json",
        "setup.py",
        "src/cargo.rs",
        "npmrc.md",
        "config.toml",
        "docs/git.md",
        "src/miser.toml",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "noxfile.py",
        "Justfile",
        "Dockerfile",
        "vite.config.ts",
        "webpack.config.js",
        "tsconfig.json",
        "tests/test_a.py",
        "tools/bazel.py",
    ],
)
def test_write_to_a_build_or_tool_config_file_needs_no_approval_in_mode_edits(name: str) -> None:
    assert isinstance(judge(written(f"/w/{name}"), Situation("edits", PLACES)), Allow)


@pytest.mark.req("X8")
@pytest.mark.parametrize("mode", MODES)
def test_state_folder_is_never_read_and_a_change_there_is_asked_about_in_every_mode(mode: Mode) -> None:
    for path in (STATE, "/w/link"):
        situation = Situation(mode, PLACES, frozenset(["edits"]), {"/w/link": STATE})
        asked = judge(written(path), situation)
        assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode and not asked.rules
        assert isinstance(judge(ReadEffect((path,)), situation), Refuse)


@pytest.mark.req("X8")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["cat {0}", "echo x > {0}", "touch {0}", "ls /home/u/.local/state/agent-ls"])
def test_command_that_names_the_state_folder_is_asked_about_in_every_mode(text: str, mode: Mode) -> None:
    # The second workspace folder contains the state folder.
    for roots in (("/w",), ("/home/u",)):
        places = Places(roots, PLACES.home, state=PLACES.state)
        asked = judge(CommandEffect(text.format(STATE), roots[0]), Situation(mode, places))
        assert isinstance(asked, Ask) and asked.needs_approval_in_every_mode


@pytest.mark.req("X6")
@pytest.mark.parametrize(
    "path", ["/data/private/a", "/w/src/private", "/home/u/.cargo/credentials.toml", "/etc/sudoers.d/x"]
)
def test_denied_places_of_the_settings_are_refused_like_credentials(path: str) -> None:
    places = Places(("/w", "/data"), "/home/u", denied=("/data/private", "/w/src/private"))
    assert isinstance(judge(ReadEffect((path,)), Situation("full", places)), Refuse)
    assert isinstance(judge(written(path), Situation("full", places)), Refuse)
    assert isinstance(judge(CommandEffect(f"cat {path}", "/w"), Situation("full", places)), Ask)
