"""One input, worked off without an editor: `agent-ls exec`. Exit codes are its contract."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import anyio

from agent_ls.app.errors import AppError
from agent_ls.app.live_session import LiveSession
from agent_ls.app.settings import Settings
from agent_ls.app.workbench import Workbench
from agent_ls.headless.answerer import MODES, Answerer, Approve, answerer
from agent_ls.headless.transcript import COLOURED, PLAIN, Transcript
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.events import ApprovalRequested, Envelope, Error, ProcessingEnd, ToolCallEnd
from agent_ls.loop.ids import new_id

DONE, FAILED, USAGE, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass(frozen=True, slots=True)
class ExecOptions:
    prompt: str
    folder: Path
    provider: str = ""
    model: str = ""
    effort: str = ""
    approve: Approve = "never"
    as_json: bool = False
    resume: str = ""
    settings: Settings = field(default_factory=Settings)


class Outcome:
    """What the exit code is made of."""

    def __init__(self) -> None:
        self.failed = False
        self.refused = False
        self.interrupted = False

    def see(self, envelope: Envelope) -> bool:
        """Takes an event in; True when the turn has ended."""
        match envelope.event:
            case Error():
                self.failed = True
            # Of every refusal, also one that nobody was asked about (a folder of credentials).
            case ToolCallEnd(error_kind="permission_denied"):
                self.refused = True
            case ProcessingEnd(reason=reason):
                self.interrupted |= reason == "interrupted"
                self.failed |= reason in ("error", "aborted")
                return True
        return False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        return FAILED if self.failed else REFUSED if self.refused else DONE


async def run_exec(options: ExecOptions, out: TextIO, err: TextIO) -> int:
    """0 done, 1 failed, 3 something was refused, 130 interrupted."""
    bench = Workbench(settings=options.settings, credentials=Credentials.from_environment())
    outcome = Outcome()
    refused: AppError | None = None
    async with anyio.create_task_group() as group:
        await group.start(bench.run)
        try:
            live = await _open(bench, options)
            group.start_soon(_stop_on_signal, live, outcome, group.cancel_scope)
            await _play(live, options, outcome, out, err)
        except AppError as error:
            refused = error
        group.cancel_scope.cancel()
    if refused:  # raised out here: a task group would wrap it
        raise refused
    return outcome.exit_code


async def _open(bench: Workbench, options: ExecOptions) -> LiveSession:
    if options.resume:
        live = await bench.open_session(options.resume)
        live.desk.mode = MODES[options.approve]
        return live
    return await bench.new_session(
        workspace_folder=str(options.folder),
        provider=options.provider or None,
        model=options.model or None,
        effort=options.effort or None,
        mode=MODES[options.approve],
    )


async def _play(live: LiveSession, options: ExecOptions, outcome: Outcome, out: TextIO, err: TextIO) -> None:
    style = COLOURED if out.isatty() and not options.as_json else PLAIN
    transcript = Transcript(style)
    answer: Answerer = answerer(options.approve)
    with live.session.subscribe() as events:
        live.session.submit(options.prompt, client_key=new_id("exec"))
        async for item in events:
            if options.as_json:
                out.write(item.encoded.decode("utf-8") + "\n")
            else:
                out.write(transcript.feed(item.envelope))
            out.flush()
            if isinstance(item.envelope.event, ApprovalRequested):
                request = item.envelope.event
                live.desk.answer(request.request_id, await answer(request))
            if outcome.see(item.envelope):
                break
    if not options.as_json:
        err.write(f"session {live.session.id}\n")


async def _stop_on_signal(live: LiveSession, outcome: Outcome, everything: anyio.CancelScope) -> None:
    """The first Ctrl-C ends the turn and what it started; one more, or one without a turn, ends the command."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if outcome.interrupted or live.session.state != "PROCESSING":
                everything.cancel()
            outcome.interrupted = True
            live.session.interrupt()


def main(options: ExecOptions) -> int:
    return anyio.run(run_exec, options, sys.stdout, sys.stderr)
