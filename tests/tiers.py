"""The tiers of the tests: `make check`, `make test`, `make test-all`, and the groups of the last.

A test belongs to `make test` unless its file is listed below or it has the marker `group`. `make test` proves each
requirement at least once and starts each front end as a real process. Nothing in it depends on how fast the machine
is: what provokes a race, kills a process or waits for another program's start is in a group.
`make test-all GROUP=processes` runs one group, `make test-all` all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache


@dataclass(frozen=True, slots=True)
class Group:
    """Tests that need the same things.

    `files` are paths below tests/, of files or folders, or patterns of them; `kept` are those that `make test` runs all
    the same.
    """

    needs: str
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


GROUPS = {
    "processes": Group(
        "processes that are killed, stopped, orphaned or start themselves again",
        (
            "durability",
            "environments/local",
            "relay/test_input_wait.py",
            "sessions/test_interrupted_processes.py",
            "sessions/test_graceful_shutdown.py",
            "services/test_background_changes.py",
            "sessions/test_suspended_turns.py",
            "sessions/test_suspended_reviews.py",
            "sessions/test_world_shell_reports.py",
            "e2e/test_few_open_files.py",
            "e2e/test_left_commands.py",
            "e2e/test_lost_logs.py",
            "e2e/test_damaged_logs.py",
            "e2e/test_owners.py",
            "e2e/test_stock_owners.py",
            "headless/test_cut_off_reports.py",
            "headless/test_terminal.py",
            "mcp/test_faults.py",
            "server/test_foreign_locks.py",
            "store/test_recovery.py",
        ),
        kept=(
            "durability/test_ledgers.py",
            "environments/local/test_commit.py",
            "environments/local/test_denials.py",
            "environments/local/test_environ.py",
            "environments/local/test_files.py",
            "environments/local/test_output.py",
            "environments/local/test_search.py",
        ),
    ),
    "signals": Group("signals that arrive while a program starts", ("headless/test_early_signals.py",)),
    "races": Group(
        "editors that report false results, answer late, or are typed into at random",
        (
            "sessions/test_opening_races.py",
            "e2e/test_answers_out_of_place.py",
            "e2e/test_forced_in_a_commit.py",
            "e2e/test_half_applied_edits.py",
            "e2e/test_lying_editors.py",
            "e2e/test_moved_hunks.py",
            "e2e/test_reopened_hunks.py",
            "e2e/test_slow_readers.py",
            "e2e/test_typing_in_lying_editors.py",
            "environments/test_editor_typing.py",
            "environments/test_timed_search.py",
            "neovim/test_commands_in_terminals.py",
            "neovim/test_commands_under_typing.py",
            "neovim/test_random_typing.py",
        ),
    ),
    "confinement": Group(
        "Landlock, bubblewrap, and programs run within them",
        (
            "environments/confinement",
            "environments/wrappers/test_sandbox*.py",
            "services/test_escapes.py",
        ),
    ),
    "clusters": Group(
        "several programs that work together: batches, remote places, Dask",
        (
            "batch",
            "environments/remote",
            "headless/test_exec_on.py",
            "headless/test_project_at_place.py",
            "services/test_places_of_editors.py",
        ),
        kept=(
            "batch/test_manifest.py",
            "environments/remote/test_bundle.py",
            "environments/remote/test_frames.py",
        ),
    ),
    "servers": Group(
        "stories with a real server and a real client, beyond one for each promise",
        (
            "acceptance",
            "acp",
            "e2e",
            "mcp/test_peer_servers.py",
            "mcp/test_start_failures.py",
            "panel/test_sessions.py",
            "server/test_backend.py",
            "server/test_large_messages.py",
            "server/test_unread_documents.py",
            "server/test_wire.py",
        ),
        kept=(
            "acceptance/test_turns.py",
            "acp/test_story.py",
            "e2e/capabilities",
            "e2e/test_commit_message.py",
            "e2e/test_history.py",
            "e2e/test_memory.py",
            "e2e/test_plan.py",
            "e2e/test_questions.py",
            "e2e/test_review.py",
            "e2e/test_rules.py",
            "e2e/test_session.py",
            "e2e/test_undo_turn.py",
        ),
    ),
    "reports": Group(
        "what users of other agents reported",
        (
            "**/*_reports.py",
            "llm/reports",
            "llm/providers/test_unseen_wordings.py",
        ),
    ),
    "commands": Group(
        "the commands of agent-ls as processes, beyond one story for each",
        (
            "doctor/test_doctor.py",
            "headless",
            "mcp/test_cli.py",
            "policy/test_start_up.py",
            "test_lean_imports.py",
        ),
        kept=(
            "headless/test_apply_patch.py",
            "headless/test_exec.py",
            "headless/test_exec_hooks.py",
            "headless/test_findings.py",
            "headless/test_first_page.py",
            "headless/test_transcript.py",
            "headless/test_waiting.py",
            "headless/test_ways_to_allow.py",
        ),
    ),
    "attacks": Group(
        "seeded attackers, whose effects are looked at on the disk",
        (
            "attacks",
            "llm/providers/test_hostile.py",
            "policy/test_by_passes.py",
            "policy/test_followed_links.py",
            "policy/test_fuzz.py",
            "services/test_on_disk.py",
        ),
    ),
    "sessions": Group(
        "whole sessions with programs of a project, beyond one for each promise",
        (
            "features/hooks/test_changes.py",
            "features/hooks/test_ended_turns.py",
            "features/hooks/test_hook_limits.py",
            "features/hooks/test_sandbox.py",
            "features/hooks/test_session.py",
            "features/packs/test_policy.py",
            "features/recording",
            "features/test_odd_files.py",
            "features/test_worktrees.py",
            "features/web/test_pages.py",
            "mcp/test_panels.py",
            "mcp/test_results.py",
            "mcp/test_safety.py",
            "services/test_permissions.py",
            "services/test_shown_secrets.py",
            "sessions/test_declared_secrets.py",
            "sessions/test_lean_session.py",
            "sessions/test_long_session.py",
            "sessions/test_replaced_commands.py",
            "sessions/test_rolling_back.py",
            "sessions/test_session_manager.py",
            "sessions/test_tool_safety.py",
            "sessions/test_unasked.py",
            "sessions/test_uncommitted_work.py",
            "test_program_lookup.py",
        ),
    ),
    "programs": Group(
        "programs that use the library, beyond one story for each promise",
        ("library",),
        kept=(
            "library/test_blocking.py",
            "library/test_events.py",
            "library/test_events_table.py",
            "library/test_exports.py",
            "library/test_hermetic.py",
            "library/test_life.py",
            "library/test_own_provider.py",
            "library/test_profile.py",
            "library/test_session.py",
        ),
    ),
    "neovim": Group(
        "Neovim itself, beyond one story for each of its features",
        ("neovim",),
        kept=(
            "neovim/test_lua_specs.py",
            "neovim/test_plugin_approvals.py",
            "neovim/test_plugin_conversation.py",
            "neovim/test_plugin_review.py",
            "neovim/test_plugin_texts.py",
            "neovim/test_real_server.py",
        ),
    ),
    "packs": Group(
        "the programs of the tool packs",
        (
            "features/packs/test_programs.py",
            "features/packs/test_command_line.py",
            "features/packs/test_sessions.py",
        ),
    ),
    "release": Group("packages that are built and installed", ("release", "test_installation.py")),
    "conformance": Group(
        "recordings, reference implementations and kits of others",
        (
            "contracts",
            "docs/test_environment_page.py",
            "docs/test_model_client_page.py",
            "docs/test_provider_page.py",
            "mcp/test_deferred.py",
            "llm/test_llmock.py",
            "llm/providers/test_recordings.py",
            "llm/providers/test_recorded_histories.py",
            "llm/providers/test_sdk_types.py",
            "llm/test_parity.py",
            "mcp/test_conformance.py",
            "mcp/test_peers.py",
            "parity/test_matrix.py",
            "parity/test_native_names.py",
            "parity/test_smoke.py",
            "patch/test_corpora.py",
        ),
        kept=("contracts/test_provider.py",),
    ),
    "services": Group("a real service, its key, and money: AGENT_LS_SMOKE=1", ("llm/test_smoke.py",)),
    "sweeps": Group("minutes of random input: AGENT_LS_SWEEPS=whole"),
    "editors": Group("VS Code, Emacs, Kate, Chromium, containers, Wine", ("editors",)),
    "interop": Group("model servers of others, 900 MB to fetch", ("interop",)),
}

INNER = (
    "patch",
    "review",
    "policy",
    "notebook",
    "llm",
    "loop",
    "tools",
    "profiles",
    "store",
    "test_layers.py",
    "test_tidy.py",
)
"""What `make check` runs of `make test`: engines and house rules, which start no server and no editor."""


@cache
def group_of(file: str) -> str | None:
    """Return the group of a test file, a path below tests/. None: it belongs to `make test`."""
    for name, group in GROUPS.items():
        if _is_in(file, group.files) and not _is_in(file, group.kept):
            return name
    return None


@cache
def is_inner(file: str) -> bool:
    return _is_in(file, INNER)


def _is_in(file: str, paths: tuple[str, ...]) -> bool:
    return any(file == path or file.startswith(f"{path}/") or fnmatch(file, path) for path in paths)
