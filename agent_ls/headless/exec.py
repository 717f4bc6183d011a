"""One input, worked off without an editor: `agent-ls exec`. Exit codes are its contract."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import anyio

from agent_ls.app.errors import AppError
from agent_ls.app.keys import load_credentials
from agent_ls.app.live_session import LiveSession
from agent_ls.app.logs import start_log
from agent_ls.app.settings import Settings
from agent_ls.app.trust import Trusting
from agent_ls.app.workbench import Workbench
from agent_ls.headless.answerer import MODES, Approve, allow_listed, answerer
from agent_ls.headless.style import COLOURED, PLAIN, plain
from agent_ls.headless.terminal import BELL, Bell, Lines, TerminalLines
from agent_ls.headless.transcript import Transcript
from agent_ls.loop.events import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    Error,
    ProcessingEnd,
    QuestionAsked,
    ToolCallEnd,
)
from agent_ls.loop.ids import new_id
from agent_ls.loop.redaction import Known, none_known, without_known
from agent_ls.loop.subscription import Encoded
from agent_ls.system import on_ending_signals, speak_plainly

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
    record: Path | None = None
    trust: bool = False
    allow: Sequence[str] = ()
    beside: Sequence[Path] = ()
    settings: Settings = field(default_factory=Settings)
    bell: Bell = "asked"


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
                self.failed |= reason in ("error", "aborted", "limit")
                return True
        return False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        return FAILED if self.failed else REFUSED if self.refused else DONE


async def run_exec(options: ExecOptions, out: TextIO, err: TextIO, lines: Lines | None = None) -> int:
    """0 done, 1 failed, 3 something was refused, 130 interrupted. `lines` None: answers come from the terminal.

    Raises:
        AppError: nothing was begun.
    """
    credentials = load_credentials()
    start_log(options.settings.log_level, credentials.known_secrets)
    # Without a person nobody is asked: what was not trusted before is not trusted now.
    trusting: Trusting = "trusted" if options.trust else "asked" if options.approve == "ask" else "kept"
    bench = Workbench(
        settings=options.settings,
        credentials=credentials,
        record_to=options.record,
        trusting=trusting,
    )
    bench.folders = lambda: [str(folder) for folder in options.beside]
    outcome = Outcome()
    refused: AppError | None = None
    async with anyio.create_task_group() as group:
        await group.start(bench.run)
        try:
            live = await _open(bench, options)
            allow_listed(live, options.allow)
            group.start_soon(_stop_on_signal, live, outcome, group.cancel_scope)
            await _Play(
                live,
                options,
                outcome,
                Output(out, err, bench.secrets),
                lines or TerminalLines(err, bell=options.bell != "off"),
            ).run()
        except AppError as error:
            refused = error
        except BrokenPipeError:  # who read our output is gone (`| head`): there is nobody to go on for
            outcome.failed = True
            _let_go(out)
        group.cancel_scope.cancel()
    if refused:  # raised out here: a task group would wrap it
        raise refused
    return outcome.exit_code


async def _open(bench: Workbench, options: ExecOptions) -> LiveSession:
    bench.owners.known_as("agent-ls exec")
    if options.resume:
        live = await bench.open_session(options.resume)
        live.desk.mode = MODES[options.approve]
        live.desk.review = "after"  # nobody is there to decide about hunks
        return live
    return await bench.new_session(
        workspace_folder=str(options.folder),
        provider=options.provider or None,
        model=options.model or None,
        effort=options.effort or None,
        mode=MODES[options.approve],
        review="after",
    )


@dataclass(frozen=True, slots=True)
class Output:
    """`out` gets the transcript or the events, `err` what a person must see in any case; neither gets `secrets`."""

    out: TextIO
    err: TextIO
    secrets: Known = none_known


class _Play:
    """One input, from its submission to its end."""

    def __init__(
        self, live: LiveSession, options: ExecOptions, outcome: Outcome, output: Output, lines: Lines
    ) -> None:
        self._live = live
        self._options = options
        self._outcome = outcome
        self._output = output
        self._answer = answerer(options.approve, lines)
        self._lines = lines
        is_coloured = output.out.isatty() and not options.as_json
        self._transcript = Transcript(COLOURED if is_coloured else PLAIN)
        self._asking: dict[str, anyio.CancelScope] = {}

    async def run(self) -> None:
        """
        Raises:
            BrokenPipeError: nobody reads the output any more.
        """
        session = self._live.session
        problem: BrokenPipeError | None = None
        with session.subscribe() as events:
            session.submit(self._options.prompt, client_key=new_id("exec"))
            # Answers are waited for beside the events: an interrupt must get through while a person thinks.
            async with anyio.create_task_group() as group:
                for (
                    request
                ) in self._live.desk.pending():  # of a suspended turn, which goes on before our input
                    self._show_waiting(request)
                    group.start_soon(self._ask, request)
                for question in session.questions.pending():
                    group.start_soon(self._reply, question)
                async for item in events:
                    problem = self._tell(item)
                    if isinstance(item.envelope.event, ApprovalRequested):
                        group.start_soon(self._ask, item.envelope.event)
                    if isinstance(item.envelope.event, QuestionAsked):
                        group.start_soon(self._reply, item.envelope.event)
                    if self._outcome.see(item.envelope) or problem:
                        break
                else:
                    self._outcome.failed = True
                    self._output.err.write("agent-ls exec: another process has taken this session over\n")
                group.cancel_scope.cancel()
        if problem:
            session.interrupt()  # what it asks is asked here only: nobody is to find it again
            raise problem
        if not self._options.as_json:
            self._output.err.write(f"session {session.id}\n")

    def _tell(self, item: Encoded) -> BrokenPipeError | None:
        """Given back and not raised: a task group would wrap it."""
        event, out, err = item.envelope.event, self._output.out, self._output.err
        text = self._transcript.feed(item.envelope)
        try:
            said = item.encoded.decode("utf-8") + "\n" if self._options.as_json else text
            out.write(without_known(said, self._output.secrets()))
            out.flush()
        except BrokenPipeError as error:
            return error
        is_on_terminal = out.isatty() and not self._options.as_json
        if self._options.approve == "ask" and not is_on_terminal and isinstance(event, ApprovalRequested):
            err.write(_whole_question(event, text))  # nobody answers what he did not see
        if self._options.bell == "done" and isinstance(event, ProcessingEnd) and err.isatty():
            err.write(BELL)
            err.flush()
        if isinstance(event, ApprovalResolved) and (scope := self._asking.get(event.request_id)):
            scope.cancel()
        return None

    def _show_waiting(self, request: ApprovalRequested) -> None:
        """What an earlier process asked; no event tells of it again."""
        session = self._live.session
        envelope = Envelope(session.id, session.last_seq, "", request, session.turn_id)
        self._output.err.write(_whole_question(request, self._transcript.feed(envelope)))

    async def _ask(self, request: ApprovalRequested) -> None:
        with anyio.CancelScope() as self._asking[request.request_id]:
            answer = await self._answer(request)
            self._live.desk.answer(request.request_id, answer)

    async def _reply(self, question: QuestionAsked) -> None:
        """On a terminal a line answers, an empty one declines; elsewhere nobody is there to be asked."""
        text = ""
        if self._options.approve == "ask":
            with anyio.CancelScope() as self._asking[question.question_id]:
                text = await self._lines.ask("    your answer: ")
        by = "terminal" if self._options.approve == "ask" else "headless"
        answers = (text,) if text.strip() else ()
        self._live.session.questions.answer(question.question_id, answers, declined=not answers, by=by)


def _whole_question(request: ApprovalRequested, text: str) -> str:
    """With the line of the call, which stands elsewhere or nowhere."""
    return f"{plain(request.tool)} {plain(request.summary)}\n{text}"


async def _stop_on_signal(live: LiveSession, outcome: Outcome, everything: anyio.CancelScope) -> None:
    """The first Ctrl-C ends the turn and what it started; one more, or one without a turn, ends the command."""

    def stop() -> None:
        if outcome.interrupted or not live.session.is_busy:
            everything.cancel()
        outcome.interrupted = True
        live.session.interrupt()

    with on_ending_signals(stop):
        await anyio.sleep_forever()


def _let_go(out: TextIO) -> None:
    """So that the interpreter's last flush does not complain either."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def main(options: ExecOptions) -> int:
    speak_plainly(options.as_json)
    return anyio.run(run_exec, options, sys.stdout, sys.stderr)
