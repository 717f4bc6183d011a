"""Open a session for a program: `async with agent_ls.open_session(...) as session`."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import anyio

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.remote.place import is_place_name
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.environments.wrappers.own import OwnEnvironment
from agent_ls.library.checks import (
    absolute_folder,
    check_callbacks,
    check_model_providers,
    rename_settings,
    typed,
)
from agent_ls.library.hints import with_program_hints
from agent_ls.library.own_profiles import HINT, guarded_profile
from agent_ls.library.owner import SessionOwner
from agent_ls.library.replies import Answerer, Approver, ChangeReviewer, LimitExtender, ProgramCallbacks
from agent_ls.library.secrets import RedactingHandler, check_secrets, hide_secrets
from agent_ls.library.session import AgentSession
from agent_ls.library.stored import store_root
from agent_ls.library.wrong_use import OPEN_PLAIN, name_missing, refuse
from agent_ls.llm.adapter import BlockingAdapter, ProviderAdapter
from agent_ls.llm.client import supported_providers
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.own_adapter import OwnAdapter
from agent_ls.loop.subagents import STARTS_AGENTS
from agent_ls.near_names import did_you_mean
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.profiles.options import ProfileOptions
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.logs import apply_passed_level
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.models.service import OwnProfile
from agent_ls.services.permissions.trust import Trusting
from agent_ls.services.settings.model import Settings, parse_settings
from agent_ls.sessions.build.tool_limits import check_limits, check_removed
from agent_ls.sessions.host import ClientState, ProgramParts
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.temporary_folders import make_temporary_folder, remove_temporary_folder
from agent_ls.text import join_sentences
from agent_ls.tools.base import Tool

# Otherwise Python prints the warnings of agent-ls on standard error of a program that does not set up logging.
logging.getLogger("agent_ls").addHandler(RedactingHandler())

MEMORY = Path("/dev/shm")
"""A folder in memory that Linux has."""

LOG_PREFIX = "agent-ls-log-"
"""Begins the name of the folder of a session that is not stored."""


class SessionOpening(AbstractAsyncContextManager[AgentSession, None]):
    """The session to open, returned by `open_session`.

    Use it once: in `async with`, or `await` it and call the session's `close` later.
    """

    def __init__(self, start: Callable[[], SessionOwner]) -> None:
        self._start = start
        self._session: AgentSession | None = None
        self._is_used = False

    if not TYPE_CHECKING:  # a type checker reports these uses itself
        __getattr__ = name_missing
        __enter__ = __exit__ = refuse(OPEN_PLAIN)

    async def open(self) -> AgentSession:
        if self._is_used:
            raise RuntimeError("this session was opened already: call open_session again for another session")
        self._is_used = True
        owner = self._start()
        return AgentSession(owner, await owner.opened())

    def __await__(self) -> Generator[Any, None, AgentSession]:
        return self.open().__await__()

    async def __aenter__(self) -> AgentSession:
        self._session = await self.open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session:
            await self._session.__aexit__(kind, error, traceback)


@typed
def open_session(
    folder: str | Path = ".",
    *,
    provider: str = "",
    model: str = "",
    effort: str | None = None,
    mode: Mode | None = None,
    review: ReviewSetting | None = None,
    approve: Approver | None = None,
    answer: Answerer | None = None,
    extend_limit: LimitExtender | None = None,
    review_changes: ChangeReviewer | None = None,
    answers_later: bool = False,
    tools: Sequence[Tool[Any]] = (),
    environment: ExecutionEnvironment | None = None,
    resume: str = "",
    without_tools: Sequence[str] = (),
    base_prompt: str = "",
    settings: Mapping[str, Any] | None = None,
    state_dir: str | Path | None = None,
    stored: bool = True,
    personal: bool = False,
    adapters: Mapping[str, ProviderAdapter | BlockingAdapter] | None = None,
    profiles: Mapping[str, OwnProfile] | None = None,
    trusted: bool = False,
    beside: Sequence[str | Path] = (),
    worktree: Literal["current", "head"] | None = None,
    open_timeout_s: float | None = None,
    secrets: Sequence[str] = (),
) -> SessionOpening:
    """Open a new session in `folder`, or the stored session with the id `resume`.

    Use the result in `async with`: leaving the block ends the session. Or `await` the result, and call the session's
    `close` later, from any task. `provider` "" selects the first provider that has a key. `mode` (default "ask")
    determines which effects need no approval.

    Callbacks answer the requests of the session. A callback is an async function, or a plain function, which is called
    in a thread. `approve` decides about effects that the mode does not allow. `answer` answers questions of the model.
    `extend_limit` decides whether a turn continues after it has reached a limit. `review_changes` decides about
    proposed changes (`review="before"`). A request without a callback is declined at once, and the model is informed.
    With `answers_later`, the request waits for a call of `session.approve`, `reply` or `review` instead.

    `tools` are added to the tools of the model's family; they replace tools of the same name. `without_tools` lists
    tools to remove; without `spawn_agent`, the tools that control subagents go too. `base_prompt` replaces the family's
    base prompt; the layers about project, tools and user instructions follow it. If `environment` is given, tools act
    in it instead of on this machine, and `folder` is ignored. `trusted`: the program trusts the folder. If `trusted` is
    False and the user has not decided about the folder, `approve` is called with an effect of type TrustEffect. Without
    approval, nothing is changed or run in the folder. `beside` are additional workspace folders, which are trusted like
    `folder`. The model refers to them by absolute paths. `settings` use the names of docs/configuration.md; arguments
    such as `mode` have priority. `adapters` are the program's own providers by name, and `profiles` are the profiles
    for their models. The default profile is the profile of Chat Completions servers. `worktree`: a new session works in
    a separate git worktree. The worktree initially contains the folder's uncommitted changes ("current") or its last
    commit ("head"), see docs/worktrees.md. It needs a stored session, and a session that began without one stays so.
    `open_timeout_s` limits the opening, for example if the environment's `initialize` hangs; None: no limit.

    `personal` adds what the user set up for their own sessions: hooks, tools, MCP servers, notes, skills, subagents,
    stored rules and trusted folders. `state_dir` is the folder for stored sessions, by default the user's state folder
    if `personal`, else the folder `programs` in it. `stored` False keeps nothing: the session's log is in a temporary
    folder until the session ends. `secrets` are values, such as tokens of the program's tools: they are redacted in
    what the model, the events, the log and exports get, and commands do not get variables with them.

    Raises:
        AppError: a folder, provider, mode or session is unknown, a tool or adapter is invalid, or `open_timeout_s` is
            over. The error's `hint` says what to do. What the arguments alone show is raised by this call, the rest
            when the session is opened.
    """
    callbacks = ProgramCallbacks(approve, answer, extend_limit, review_changes, answers_later)
    check_callbacks(callbacks)
    check_secrets(secrets)
    _check_places(state_dir, beside, resume=resume, stored=stored, has_worktree=worktree is not None)
    own = OwnEnvironment(environment) if environment else None
    options = ProfileOptions(base_prompt=base_prompt, without=_with_useless(without_tools, tools))
    parts = _program_parts(own, adapters or {}, profiles or {}, tools, options, personal=personal)

    def start() -> SessionOwner:
        own_settings = _read_settings(settings or {})
        new = SessionSpec(
            workspace_folder=str(folder) if own or resume else absolute_folder(folder),
            provider=provider or own_settings.provider or None,
            model=model or _model_of(own_settings, provider),
            effort=own_settings.effort if effort is None else effort,
            mode=mode or own_settings.mode,
            review=review or own_settings.review,
            worktree=worktree,
        )
        store, clean_up = _choose_store(state_dir, stored, personal)
        how = _how_trusted(trusted, callbacks)
        manager = _create_manager(own_settings, store, parts, how, beside, secrets)
        open_live = _limit_opening(open_timeout_s, own, manager, resume, new, without_tools)
        owner = SessionOwner(manager, open_live, callbacks, clean_up, environment=own, is_stored=stored)
        return _holding_adapters(owner, parts)

    return SessionOpening(start)


def _program_parts(
    own: OwnEnvironment | None,
    adapters: Mapping[str, ProviderAdapter | BlockingAdapter],
    profiles: Mapping[str, OwnProfile],
    tools: Sequence[Tool[Any]],
    options: ProfileOptions,
    *,
    personal: bool,
) -> ProgramParts:
    """Return the parts of the program, guarded against what its code may raise."""
    return ProgramParts(
        adapters={name: _guarded(name, it) for name, it in adapters.items()},
        profiles={name: guarded_profile(name, it) for name, it in profiles.items()},
        tools=_checked_names(tools),
        profile_options=options,
        environment=own,
        personal=personal,
    )


def _read_settings(given: Mapping[str, Any]) -> Settings:
    settings = rename_settings(given)
    apply_passed_level(settings)
    return parse_settings(settings)[0]


def _check_profiles(parts: ProgramParts) -> None:
    """Raise BadChoiceError if a profile is for a provider that does not exist."""
    known = (*parts.adapters, *supported_providers())
    for name in parts.profiles:
        if name not in known:
            near = did_you_mean(name, known)
            hint = f"pass adapters={{{name!r}: ...}} too"
            hint = join_sentences(near, hint) if near else hint
            raise BadChoiceError(f"profiles: {name!r} has no adapter, and is no known provider", hint)


def _checked_names(tools: Sequence[Tool[Any]]) -> Sequence[Tool[Any]]:
    """Return the tools. Raise BadChoiceError if two have the same name."""
    names = [tool.name for tool in tools]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise BadChoiceError(
                f"tools: several tools have the name {name!r}", "give each tool its own name"
            )
    return tools


def _model_of(settings: Settings, provider: str) -> str | None:
    """Return the model of the settings, unless it is one of another provider than the argument `provider`."""
    return settings.model or None if provider in ("", settings.provider or provider) else None


def _with_useless(names: Sequence[str], tools: Sequence[Tool[Any]]) -> tuple[str, ...]:
    """Return the tools to remove, with those that need one of them. A program's own tools stay."""
    own = {tool.name for tool in tools}
    needing = [name for name in STARTS_AGENTS if name not in own] if "spawn_agent" in names else []
    return tuple(dict.fromkeys((*names, *needing)))


def _guarded(name: str, adapter: ProviderAdapter | BlockingAdapter) -> ProviderAdapter:
    return adapter if isinstance(adapter, HttpAdapter) else OwnAdapter(name, adapter, HINT)


def _how_trusted(trusted: bool, callbacks: ProgramCallbacks) -> Trusting:
    return "trusted" if trusted else "asked" if callbacks.approve or callbacks.answers_later else "kept"


def _holding_adapters(owner: SessionOwner, parts: ProgramParts) -> SessionOwner:
    """Keep the adapters of the program open until the task of the owner ends, which closes them."""
    for adapter in parts.adapters.values():
        if isinstance(adapter, OwnAdapter):
            adapter.total_timeout_s = partial(_total_timeout_s, owner.manager, adapter.name)
            adapter.hold()
    return owner


def _total_timeout_s(manager: SessionManager, provider: str) -> float | None:
    settings = manager.settings.providers.get(provider)
    return settings.endpoint().total_timeout_s if settings else None


def _create_manager(
    settings: Settings,
    state_dir: Path | None,
    parts: ProgramParts,
    trusting: Trusting,
    beside: Sequence[str | Path],
    secrets: Sequence[str],
) -> SessionManager:
    _check_profiles(parts)
    check_model_providers(settings, parts.adapters)
    folders = [os.path.normpath(absolute_folder(place)) for place in beside]
    return SessionManager(
        settings=settings,
        credentials=hide_secrets(load_credentials(), secrets),
        state_dir=state_dir,
        program=parts,
        client=ClientState(
            trusting=trusting,
            keeps_trust=False,
            folders=lambda: folders,
        ),
    )


def _check_places(
    state_dir: str | Path | None,
    beside: Sequence[str | Path],
    *,
    resume: str,
    stored: bool,
    has_worktree: bool,
) -> None:
    """Raise BadChoiceError if the state folder is a file or is needed, or if a folder beside the workspace does not
    exist.
    """
    if resume and not stored:
        raise BadChoiceError("resume: with stored=False there is no stored session", "leave out stored=False")
    if has_worktree and not stored:
        raise BadChoiceError(
            "worktree: with stored=False, changes that did not come to the folder would be deleted at the end",
            "pass a state_dir, and call delete_session after the session",
        )
    if state_dir and os.path.isfile(os.path.expanduser(state_dir)):
        raise BadChoiceError(f"state_dir is a file: {state_dir}", "pass a folder, which may be new")
    for place in beside:
        if not os.path.isdir(os.path.expanduser(place)):
            raise BadChoiceError(f"beside: there is no folder {place}", "pass folders that exist")


def _choose_store(
    state_dir: str | Path | None, stored: bool, personal: bool
) -> tuple[Path | None, Callable[[], None]]:
    """Return the folder of the sessions (None: the user's), and the function to call after the session."""
    if not stored:
        place = str(MEMORY) if os.access(MEMORY, os.W_OK) else ""
        made = make_temporary_folder(LOG_PREFIX, place=place, min_age_s=0)
        return Path(made), partial(remove_temporary_folder, made)
    return store_root(state_dir, personal), _nothing


def _nothing() -> None:
    return None


def _check_local(place: ExecutionEnvironment) -> None:
    """Raise BadChoiceError if the environment is this machine, also in wrappers, and its folder does not exist."""
    while isinstance(place, ForwardingEnvironment):
        place = place.inner
    if isinstance(place, LocalEnvironment) and not os.path.isdir(place.working_directory()):
        raise BadChoiceError(
            f"environment: there is no folder {place.working_directory()}", "pass a folder that exists"
        )


async def _open_in(
    environment: OwnEnvironment,
    manager: SessionManager,
    resume: str,
    new: SessionSpec,
    without: Sequence[str],
) -> LiveSession:
    """Start the program's environment, then open a session in its folder."""
    _check_local(environment.inner)
    try:
        await environment.initialize()
        new = replace(new, workspace_folder=environment.working_directory())
        return await _open_live(manager, resume, new, without)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await environment.cleanup()
        if isinstance(error, EnvError):
            hint = "correct this environment, or pass another one; nothing is left open"
            raise AppError(f"the environment cannot be used: {error}", hint) from error
        raise


def _limit_opening(
    open_timeout_s: float | None,
    own: OwnEnvironment | None,
    manager: SessionManager,
    resume: str,
    new: SessionSpec,
    without: Sequence[str],
) -> Callable[[], Awaitable[LiveSession]]:
    """Return the function that opens the session in time. Raise BadChoiceError if the limit is no time."""
    if open_timeout_s is not None and not open_timeout_s > 0:
        raise BadChoiceError(f"open_timeout_s is {open_timeout_s}", "pass seconds, or None for no limit")
    opening = partial(_open_in, own) if own else _open_in_folder
    return partial(_open_in_time, open_timeout_s, partial(opening, manager, resume, new, without))


async def _open_in_time(
    limit_s: float | None, open_live: Callable[[], Awaitable[LiveSession]]
) -> LiveSession:
    with anyio.move_on_after(limit_s):
        return await open_live()
    raise AppError(
        f"the session was not opened in {limit_s:g} s",
        "look what hangs, such as `initialize` of your environment, or pass a longer open_timeout_s",
    )


def _check_folder(given: str, stored: str, state: Path) -> None:
    """Raise BadChoiceError if the program passed another folder than that of the session, or the folder is gone."""
    if is_place_name(stored) or is_place_name(given):
        return
    is_there = os.path.isdir(stored)
    if given not in ("", ".", stored) and not is_there:
        raise BadChoiceError(
            f"folder: the session is in {stored}, which does not exist any more, not in {given}",
            f"if the folder was moved, run `AGENT_LS_STATE_DIR={shlex.quote(str(state))} agent-ls sessions relink "
            f"{shlex.quote(stored)} {shlex.quote(given)}`, and open the session again",
        )
    if given not in ("", ".", stored) and os.path.realpath(os.path.expanduser(given)) != os.path.realpath(
        stored
    ):
        raise BadChoiceError(
            f"folder: the session is in {stored}, not in {given}", "leave out folder, or pass its own"
        )
    if not is_there:
        raise BadChoiceError(
            f"the folder of the session does not exist: {stored}",
            "create it again, pass its new place as folder if it was moved, or pass the environment of the session",
        )


def _check_worktree(folder: str, *, has_worktree: bool) -> None:
    """Raise BadChoiceError if the session to resume works in its folder itself: it cannot move to a worktree."""
    if not has_worktree:
        raise BadChoiceError(
            f"worktree: the session to resume works in {folder} itself, and stays there",
            "leave out worktree, or begin a new session with it",
        )


@with_program_hints
async def _open_in_folder(
    manager: SessionManager, resume: str, new: SessionSpec, without: Sequence[str]
) -> LiveSession:
    """Open a session without an environment of the program. A resumed one stays in its folder, which must exist."""
    if resume:
        stored = await manager.stored_header(resume)
        _check_folder(new.workspace_folder, stored.workspace_folder, manager.state_root)
    return await _open_live(manager, resume, new, without)


@with_program_hints
async def _open_live(
    manager: SessionManager, resume: str, new: SessionSpec, without: Sequence[str]
) -> LiveSession:
    """Create a session with the options `new`, or open the stored session `resume` and apply the options to it."""
    if resume:
        if new.worktree:
            stored = await manager.stored_header(resume)
            _check_worktree(stored.workspace_folder, has_worktree=stored.has_worktree)
        live = await manager.open_session(resume, provider=new.provider or "", mode=new.mode)
        await live.configure(
            provider=new.provider, model=new.model, effort=new.effort, mode=new.mode, review=new.review
        )
    else:
        live = await manager.new_session(new)
    registry = live.session.profile.registry
    check_limits(manager.settings, registry)
    check_removed(without, registry)
    return live
