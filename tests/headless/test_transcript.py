from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from agent_ls.display.words import seconds
from agent_ls.environments.effects import CommandEffect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.headless.style import COLOURED, PLAIN, shorten_lines
from agent_ls.headless.transcript import Transcript
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import effect_json
from agent_ls.loop.events.editor import DiagnosedFile, EditDiagnosed, SaveRequested
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    CacheLost,
    Compaction,
    Delta,
    Envelope,
    Error,
    FileChange,
    HunkStateChanged,
    LoopDetection,
    PlanChanged,
    PlanItem,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    QueueSpliced,
    ReasoningEnd,
    ReasoningStart,
    RecordedEvent,
    Retry,
    Reverted,
    RevertedFile,
    RuleRemoved,
    SessionEnd,
    SessionEvent,
    SessionStart,
    StateChanged,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    SubagentChanged,
    TerminalExit,
    TerminalOpen,
    TerminalWaiting,
    Title,
    ToolCallEnd,
    ToolCallStart,
    TurnFacts,
    TurnLimit,
    UsageReport,
    UserInput,
    Warning,
)
from agent_ls.text import strip_controls

DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
SHOWN_DIFF = "    @@ -1,2 +1,2 @@\n     same\n    -old\n    +new\n"


def envelope(event: SessionEvent, second: int = 0) -> Envelope:
    return Envelope("s", 1, f"2026-01-02T03:04:{second:02}.000Z", event)


def transcript(*events: SessionEvent, **options: Any) -> str:
    made = Transcript(**options)
    return "".join(made.feed(envelope(event)) for event in events)


def start(call_id: str = "c", name: str = "read_file", summary: str = "a.py") -> ToolCallStart:
    return ToolCallStart(call_id, 0, name, "{}", summary)


def end(call_id: str = "c", **changes: Any) -> ToolCallEnd:
    values: dict[str, Any] = {
        "name": "read_file", "output": "text", "summary": "3 lines", "is_error": False, "error_kind": "",
        "duration_ms": 5, "output_chars": 4,
    }  # fmt: skip
    return ToolCallEnd(call_id, **(values | changes))


def command_end(output: str, code: int = 0) -> ToolCallEnd:
    return end(
        name="shell", output=output, summary=f"exit {code}", is_error=code != 0,
        error_kind="shell_exit" if code else "", duration_ms=340, exit_code=code,
    )  # fmt: skip


def asked(effect: Any, call_id: str = "c", summary: str = "a.py") -> ApprovalRequested:
    return ApprovalRequested("r", call_id, "tool", summary, "because", effect_json(effect), effect.digest)


def answered(decision: Any, **changes: Any) -> ApprovalResolved:
    values: dict[str, Any] = {"scope": "once", "decided_by": "terminal"}
    return ApprovalResolved("r", decision, **(values | changes))


EDIT = WriteEffect((PlannedWrite("/w/a.py", "modify", DIFF, "k"),))
TWO_EDITS = WriteEffect((*EDIT.files, PlannedWrite("/w/b.py", "delete", "", "k")))

# Each kind of event, and the transcript of that event alone.
AGENT = SubagentChanged("agent_1", "running", "c", "count the\ntests", "m", "/w")
KINDS: list[tuple[RecordedEvent, str]] = [
    (SessionStart("anthropic", "claude", "/w"), "  anthropic / claude in /w\n"),
    (SessionStart("anthropic", "claude", "/w", resumed=True), "  anthropic / claude in /w, resumed\n"),
    (
        SessionStart("walkthrough", "walkthrough", "/w", is_walkthrough=True),
        "  walkthrough (a script, no model) in /w\n",
    ),
    (SessionEnd("CLOSED", "completed"), ""),
    (StateChanged("PROCESSING"), ""),
    (UserInput("Do it.\nNow."), "\u276f Do it.\n  Now.\n\n"),
    (SteeringQueued("st", "Stop."), "\u276f Stop.  (while it works)\n\n"),
    (SteeringRemoved("st"), ""),
    (SteeringInjected("st", "Stop."), "  \u21b3 sent to the model: Stop.\n"),
    (QueueChanged(()), ""),
    (QueueSpliced(0, 1, ()), ""),
    (
        PlanChanged(
            "", (PlanItem("Read it", "done"), PlanItem("Mend it", "active"), PlanItem("Test it", "pending"))
        ),
        "  [x] Read it\n  [>] Mend it\n  [ ] Test it\n",
    ),
    (AssistantTextStart("p"), ""),
    (AssistantTextEnd("p", "Hello."), "Hello.\n"),
    (AssistantTextEnd("p", "Hel", interrupted=True), "Hel \u2026 (interrupted)\n"),
    (ReasoningStart("p"), ""),
    (ReasoningEnd("p", "So\nit is."), "  (thinks) So\n  it is.\n"),
    (ReasoningEnd("p", ""), ""),
    (start(), "\u25b8 read_file a.py\n"),
    (end(), "  \u2713 read_file: 3 lines\n"),
    (FileChange("c", "/w/a.py", "modify", 1, 1, DIFF), SHOWN_DIFF),
    # the result of the call reports them
    (EditDiagnosed("c", (DiagnosedFile("/w/a.py", 1, is_settled=True),)), ""),
    (HunkStateChanged("/w/a.py", (), "user"), ""),
    (asked(ReadEffect(("/etc/hosts",))), "  ? Allow the agent to read /etc/hosts? (because)\n"),
    (answered("allow"), "  \u2713 allowed once by you\n"),
    (TerminalOpen("c", "c", "ls"), ""),
    (TerminalWaiting("c", "c", waiting=True), ""),
    (TerminalExit("c", 0), ""),
    (UsageReport(Usage(1, 1), Usage(1, 1), 1, 100), ""),
    (
        Retry(2, 1500, "rate_limit", "Too many requests."),
        "  ! Too many requests. Trying again in 1.5 s (attempt 2).\n",
    ),
    (TurnFacts("Nothing was run.", 1), "  Nothing was run.\n"),
    (TurnLimit("rounds", 3, "Stopped after 3 rounds."), "  ! Stopped after 3 rounds.\n"),
    (LoopDetection("It repeats itself."), "  ! It repeats itself.\n"),
    (Warning("Nearly full."), "  ! Nearly full.\n"),
    (Error("The key is wrong.", "authentication", "Check it."), "error: The key is wrong.\n  Check it.\n"),
    (
        Reverted("r", "t", True, ("t",), (), (RevertedFile("/w/a.py", "modify", "restored"),)),
        "  rolled back 1 message, 1 of 1 file restored\n",
    ),
    (Title("A title"), ""),
    (QuestionAsked("q", "c", "Which?", ("red", "blue")), "  ? Which?\n    - red\n    - blue\n"),
    (QuestionAnswered("q", ("red",), False, "me"), "  answered: red\n"),
    (QuestionAnswered("q", (), True, "headless"), "  not answered\n"),
    (Compaction("k", "started", "auto", "summarize", 900, message="Making room."), "  Making room.\n"),
    (Compaction("k", "failed", "auto", "summarize", 900, message="No room."), "  ! No room.\n"),
    (CacheLost("model", "The cache is lost.", 10), ""),
    (EditDiagnosed("c", (DiagnosedFile("/w/a.py", 1, True),)), ""),
    (SaveRequested("c", ("/w/a.py", "/w/b.py")), "  the editor was asked to save /w/a.py, /w/b.py\n"),
    (RuleRemoved("rule1"), "  rule removed, so such actions need approval again: rule1\n"),
    (AGENT, "  agent_1 works on: count the tests\n"),
    (
        replace(AGENT, status="failed", reason="limit", turns_used=3),
        "  agent_1 reached its limit, model calls: 3\n",
    ),
    (ProcessingEnd("completed"), "  done\n"),
    (ProcessingEnd("interrupted"), "  stopped\n"),
    (ProcessingEnd("error"), "  ended by an error\n"),
    (ProcessingEnd("limit"), "  stopped at a limit\n"),
    (ProcessingEnd("refused"), "  done, but actions of the agent were refused\n"),
    (ProcessingEnd("aborted"), "  the session was ended\n"),
]


@pytest.mark.req("H13", "E1")
@pytest.mark.parametrize(
    ("event", "expected"), KINDS, ids=[f"{n}-{event.kind}" for n, (event, _) in enumerate(KINDS)]
)
def test_transcript_renders_each_kind_of_event(event: RecordedEvent, expected: str) -> None:
    assert transcript(event) == expected


def test_transcript_examples_cover_every_recorded_event_type() -> None:
    assert {type(event) for event, _ in KINDS} == set(get_args(RecordedEvent))


@pytest.mark.req("H13", "E7")
def test_transcript_omits_subagent_texts_and_lists_subagent_tool_calls() -> None:
    def shown(event: SessionEvent) -> str:
        return Transcript().feed(Envelope("s", 1, "", event, "t", "agent_1"))

    assert shown(AssistantTextEnd("p", "for my parent")) == ""
    assert shown(Delta("assistant_text_delta", "p", 0, "for my parent")) == ""
    assert "read_file a.py" in shown(start())


FLOWS: dict[str, tuple[list[SessionEvent], str]] = {
    "text that was streamed is not repeated": (
        [
            AssistantTextStart("p"),
            Delta("assistant_text_delta", "p", 0, "Hel"),
            Delta("assistant_text_delta", "p", 3, "lo."),
            AssistantTextEnd("p", "Hello."),
        ],
        "Hello.\n",
    ),
    "other deltas are not shown": (
        [Delta("reasoning_delta", "p", 0, "hm"), Delta("tool_call_output_delta", "c:out", 0, "out")],
        "",
    ),
    "one call, its result below": ([start(), end()], "\u25b8 read_file a.py\n  \u2713 3 lines\n"),
    "a slow call with its time": (
        [start(), end(duration_ms=2400)],
        "\u25b8 read_file a.py\n  \u2713 3 lines \u00b7 2.4 s\n",
    ),
    "calls side by side, results by name": (
        [start("c1"), start("c2", summary="b.py"), end("c1"), end("c2")],
        "\u25b8 read_file a.py\n\u25b8 read_file b.py\n  \u2713 a.py: 3 lines\n  \u2713 b.py: 3 lines\n",
    ),
    "a call after another, with a blank line": (
        [start("c1"), end("c1"), start("c2"), end("c2")],
        "\u25b8 read_file a.py\n  \u2713 3 lines\n\n\u25b8 read_file a.py\n  \u2713 3 lines\n",
    ),
    "a failed call in its own words": (
        [
            start(),
            end(is_error=True, error_kind="x", output="Not found.\nLook elsewhere.", summary="Not found."),
        ],
        "\u25b8 read_file a.py\n  \u2717 Not found.\n    Look elsewhere.\n",
    ),
    "a command with its output and time, its remarks told once": (
        [
            start(name="shell", summary="ls"),
            command_end("a\n\nb\nExit code: 0\nDuration: 340 ms"),
        ],
        "\u25b8 shell ls\n  \u2502 a\n  \u2502\n  \u2502 b\n  \u2713 exit 0 \u00b7 0.3 s\n",
    ),
    "a command that failed": (
        [start(name="shell", summary="ls"), command_end("no\nExit code: 1\nDuration: 340 ms", 1)],
        "\u25b8 shell ls\n  \u2502 no\n  \u2717 exit 1 \u00b7 0.3 s\n",
    ),
    "an edit that was asked about is shown once, before the question": (
        [
            start(name="edit_file"),
            asked(EDIT),
            answered("allow", scope="session"),
            FileChange("c", "/w/a.py", "modify", 1, 1, DIFF),
            end(name="edit_file", summary="Edited."),
        ],
        (
            f"\u25b8 edit_file a.py\n{SHOWN_DIFF}  ? Allow the agent to make this change? (because)\n"
            "  \u2713 allowed for this session by you\n  \u2713 Edited.\n"
        ),
    ),
    "an edit that became another while it was asked about is shown as it became": (
        [asked(EDIT), FileChange("c", "/w/a.py", "modify", 1, 1, DIFF.replace("new", "newer"))],
        f"{SHOWN_DIFF}  ? Allow the agent to make this change? (because)\n{SHOWN_DIFF.replace('new', 'newer')}",
    ),
    "several files by their names": (
        [SessionStart("p", "m", "/w"), asked(TWO_EDITS)],
        (
            f"  p / m in /w\n    modify a.py\n{SHOWN_DIFF}    delete b.py\n"
            "  ? Allow the agent to make this change? (because)\n"
        ),
    ),
    "a command is shown whole where its line does not": (
        [
            SessionStart("p", "m", "/w"),
            asked(CommandEffect("make\nrm x", "/w/sub", (("A", "1"),), background=True), summary="make rm x"),
        ],
        (
            "  p / m in /w\n    $ make\n    $ rm x\n    in sub\n    with A=1\n"
            "    in the background, until it is ended\n  ? Allow the agent to run this command? (because)\n"
        ),
    ),
    "a command that its line shows whole is not repeated": (
        [SessionStart("p", "m", "/w"), asked(CommandEffect("make", "/w"), summary="make")],
        "  p / m in /w\n  ? Allow the agent to run this command? (because)\n",
    ),
    "a refusal is told once": (
        [
            start(),
            asked(EDIT),
            answered("deny", reason="not now"),
            end(is_error=True, error_kind="permission_denied", output="Permission denied: not now"),
        ],
        (
            f"\u25b8 read_file a.py\n{SHOWN_DIFF}  ? Allow the agent to make this change? (because)\n"
            "  \u2717 not allowed by you: not now\n"
        ),
    ),
    "a refusal that nobody was asked about": (
        [start(), end(is_error=True, error_kind="permission_denied", output="Permission denied: keys")],
        "\u25b8 read_file a.py\n  \u2717 Permission denied: keys\n",
    ),
    "speech in the middle of a line begins a new one": (
        [
            AssistantTextStart("p"),
            Delta("assistant_text_delta", "p", 0, "I am"),
            SteeringQueued("st", "Wait."),
            Delta("assistant_text_delta", "p", 4, " here."),
            AssistantTextEnd("p", "I am here."),
        ],
        "I am\n\n\u276f Wait.  (while it works)\n\n here.\n",
    ),
    "a text after calls, a blank line between": (
        [start(), end(), AssistantTextStart("p"), AssistantTextEnd("p", "Done.")],
        "\u25b8 read_file a.py\n  \u2713 3 lines\n\nDone.\n",
    ),
}


@pytest.mark.req("H13", "H7")
@pytest.mark.parametrize("name", FLOWS)
def test_consecutive_events_give_a_readable_transcript(name: str) -> None:
    events, expected = FLOWS[name]
    assert transcript(*events) == expected


@pytest.mark.req("H7")
def test_changed_line_that_looks_like_the_head_of_a_diff_is_not_hidden() -> None:
    diff = "--- a/a.sql\n+++ b/a.sql\n@@ -1 +1 @@\n--- old comment\n+++ i;\n"
    text = transcript(FileChange("c", "/w/a.sql", "modify", 1, 1, diff))
    assert text == "    @@ -1 +1 @@\n    --- old comment\n    +++ i;\n"


@pytest.mark.req("H13")
def test_closing_line_of_a_turn_counts_only_files_time_and_tokens_of_that_turn() -> None:
    made = Transcript()

    def turn(began: int, ended: int, *files: str) -> str:
        events: list[SessionEvent] = [UserInput("go")]
        events += [FileChange("c", file, "modify", 2, 1, DIFF) for file in files]
        events.append(UsageReport(Usage(1200, 34), Usage(9, 9), 1, 100))
        for event in events:
            made.feed(envelope(event, began))
        return made.feed(envelope(ProcessingEnd("completed"), ended)).strip()

    assert turn(0, 3, "/w/a", "/w/b", "/w/a") == (
        "done \u00b7 2 files changed +6 \u22123 \u00b7 3.0 s \u00b7 1,200 tokens in, 34 out"
    )
    assert turn(10, 40) == "done \u00b7 30 s \u00b7 1,200 tokens in, 34 out"


def test_long_command_output_is_shortened_in_the_middle_with_the_number_of_omitted_lines() -> None:
    text = transcript(start(), command_end("\n".join(map(str, range(100)))))
    assert "\u2502 0\n" in text and "\u2502 99\n" in text and "77 lines" in text
    assert len(text.split("\n")) < 30
    assert "\u2502" not in transcript(start(), command_end("x"), show_output=False)


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]52;c;Y29weQ==\x1b\\",
    "\x9b2J",
    "back\x08\x08\x08",
    "over\rwritten",
    "bell\x07",
    "\x1b",
    "\x00\x7f",
    "hidden \u202e txet",
    "\u2066isolate",
]


def spoken(text: str) -> Sequence[SessionEvent]:
    """Return events with this text in every field that a user, a model, a tool or a file can fill."""
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-{text}\n+{text}\n"
    write = WriteEffect(tuple(PlannedWrite(f"/w/{text}{n}", "modify", diff, "k") for n in range(2)))
    command = CommandEffect(text, f"/{text}", ((text, text),))
    return [
        SessionStart(text, text, text),
        UserInput(text),
        SteeringQueued("st", text),
        SteeringInjected("st", text),
        AssistantTextStart("p"),
        Delta("assistant_text_delta", "p", 0, text),
        AssistantTextEnd("p", text),
        AssistantTextEnd("q", text),
        ReasoningEnd("p", text),
        start("c", text, text),
        start("d", text, text),
        asked(write),
        answered("deny", reason=text, decided_by=text),
        asked(command),
        answered("allow", reason=text, decided_by=text),
        asked(ReadEffect((text,))),
        FileChange("e", text, "modify", 1, 1, diff),
        end("c", name=text, summary=text, output=text),
        end("d", name=text, summary=text, output=text, exit_code=1, is_error=True),
        end("x", name=text, summary=text, output=text, is_error=True),
        Retry(1, 1, "x", text),
        Warning(text),
        LoopDetection(text),
        TurnLimit("rounds", 1, text),
        TurnFacts(text, 1),
        Error(text, "x", text),
    ]


@pytest.mark.req("H13", "R5")
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("style", [PLAIN, COLOURED], ids=["plain", "coloured"])
def test_control_characters_from_users_models_and_tools_never_reach_the_terminal(
    text: str, style: Any
) -> None:
    printed = transcript(*spoken(text), style=style)
    for ours in {style.bold, style.dim, style.red, style.green, style.yellow, style.cyan, style.end} - {""}:
        printed = printed.replace(ours, "")
    assert not [char for char in printed if (ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160]
    assert not set(printed) & set("\u202e\u2066")


@pytest.mark.req("H7")
def test_an_escape_sequence_hides_no_part_of_a_command_or_edit_under_approval() -> None:
    words = "ls \x1b];rm -r build;\x07"
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\r\n+{words}\r\n"
    write = WriteEffect((PlannedWrite("/w/a.py", "modify", diff, "k"),))

    assert "$ ls \u241b];rm -r build;\u2407\n" in transcript(asked(CommandEffect(words, "/w"), summary=words))
    assert "+ls \u241b];rm -r build;\u2407\n" in transcript(asked(write))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tab\tand\nline", "tab\tand\nline"),
        ("caf\u00e9 \U0001f60b", "caf\u00e9 \U0001f60b"),
        ("a\u202eb", "a\ufffdb"),
    ],
)
def test_strip_controls_keeps_ordinary_text(text: str, expected: str) -> None:
    assert strip_controls(text) == expected


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [
        (0, "0.0 s"),
        (340, "0.3 s"),
        (9_940, "9.9 s"),
        (12_400, "12 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "60 min 0 s"),
    ],
)
def test_durations_are_formatted_for_people(duration_ms: float, expected: str) -> None:
    assert seconds(duration_ms) == expected


def test_shorten_lines_changes_only_a_list_over_the_limit() -> None:
    assert shorten_lines(["a", "b"], 2) == ["a", "b"]
    assert len(shorten_lines(["x"] * 9, 5)) == 5
