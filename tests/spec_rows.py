"""The checklists of the public specifications, row by row, in our own words; each row has a test that proves it.

`loop` is the coding agent loop specification (section 9, its definition of done), `conversation` is "conversation and
agent loop" (section 4, its tests), and `safety` is "tool safety" (its scenarios S5 and S6). A test names its rows with
`@pytest.mark.spec("loop 9.3.2")`: row 2 of the list in section 9.3. `but` says where agent-ls differs, and by which
requirement (docs/requirements.md).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    words: str
    but: str = ""


def _rows(prefix: str, *rows: str | tuple[str, str]) -> tuple[Row, ...]:
    """Return the rows, numbered from 1. A pair is a row's text, and how agent-ls differs from the specification."""
    return tuple(
        Row(f"{prefix}{number}", *((row,) if isinstance(row, str) else row))
        for number, row in enumerate(rows, 1)
    )


ROWS = (
    *_rows(
        "loop 9.1.",
        "a session is made of a profile and an environment",
        "an input runs model call and tools in turns until the model is done",
        "an answer of words alone ends the loop",
        "the limit of tool rounds stops an input",
        ("the limit of turns stops the loop over all inputs", "L2: turns are counted in model calls"),
        "abort stops the loop, ends processes, closes the session",
        ("a repeating pattern of calls leads to a warning in the history", "L9: three: the last nine of ten"),
        "inputs one after the other work",
    ),
    *_rows(
        "loop 9.2.",
        "OpenAI has its tools, apply_patch among them",
        "Anthropic has its tools, edit_file among them",
        "Gemini has its tools",
        "each profile's prompt covers identity, tools, coding",
        "tools of the host's own on top of any profile",
        "a tool of the host's own takes the place of the profile's by that name",
    ),
    *_rows(
        "loop 9.3.",
        "calls go through the registry",
        "an unknown tool is an error result",
        "arguments are parsed and checked against the schema",
        "what fails in a tool is an error result",
        ("calls run in parallel where the profile says so", "L10: one with an effect waits for those before it"),
    ),
    *_rows(
        "loop 9.4.",
        "the local environment does files and commands",
        ("commands have 10 s by default", "P3: 120 s where the profile is Anthropic's"),
        "a call may set its own time",
        "at the limit: TERM to the group, KILL after 2 s",
        "variables with secrets in their names are not passed on",
        "a user can write an environment",
    ),
    *_rows(
        "loop 9.5.",
        "characters are cut first, in all outputs",
        "lines are cut second, where the table says",
        "the cut says how much is gone",
        "the event has the whole output",
        ("the limits are those of the table", "O1: glob keeps its head, where the newest files stand"),
        "both limits can be set",
    ),
    *_rows(
        "loop 9.6.",
        "a steer is heard after the running round",
        "a follow-up is worked off after the input",
        "a steer is a turn of its own in the history",
        "to the model it is a message of the user's",
    ),
    *_rows(
        "loop 9.7.",
        "effort reaches the request",
        "a change holds from the next call",
        "low, medium, high, unset, and what a provider adds",
    ),
    *_rows(
        "loop 9.8.",
        "the prompt has the family's instructions",
        "it has facts of the place: system, git, folder, date, model",
        ("it has the tools", "their descriptions go in the request's tool list, the prompt names each"),
        "it has the project's documents",
        "the user's instructions stand last",
        "only the documents of this family are read",
    ),
    *_rows(
        "loop 9.9.",
        "an agent is spawned with a task",
        "it works on the same files",
        "it has a history of its own",
        "depth is limited, to 1 by default",
        "what it did comes back as a tool result",
        "send_input, wait and close_agent work",
    ),
    *_rows(
        "loop 9.10.",
        "every kind of event, at its time",
        "events come by an async iterator",
        ("the end of a call carries its whole output", "E3: above 64 KiB it names it, and `output()` reads it"),
        "start and end bracket the session",
    ),
    *_rows(
        "loop 9.11.",
        "a tool's failure is told to the model, which goes on",
        "passing failures of the provider are tried again, later each time",
        "a refused key is told at once and closes the session",
        ("an overflow of the context is a warning", "L13: and where compaction is on, the call is made again"),
        (
            "shutdown in order: stream, processes, events, agents, end, CLOSED",
            "E8: session_end is the last event, so the change to CLOSED is told before it",
        ),
    ),
    *_rows(
        "conversation 4.",
        "what is appended comes back",
        "what a request holds is a copy",
        ("appending while others read does no harm", "one event loop, no threads: a request holds its snapshot"),
        "compaction is due when the estimate passes the limit",
        "compaction replaces what is old and keeps the tail",
        "the summary says that it is background",
        "a history shorter than the tail stays as it is",
        "no tools: deltas, then the end",
        "a tool call: start, end, deltas, end; call and result in the history",
        "a tool's error: marked in event and result, the loop goes on",
        "a denial: asked, an error result that says so, the loop goes on",
        (
            "a cancel in the stream ends the loop and leaves no task",
            "H2: an interrupt ends the turn with its reason; it is no error",
        ),
        "two calls run at the same time, results stand in their places",
        ("no races", "one event loop, no threads: every order of its steps is tried"),
    ),
    *_rows(
        "safety S5.",
        "no tools: one call, one answer",
        "a tool's result reaches the model, which answers",
        "several calls in one answer: all results go back",
        "a tool that throws: an error result, which the model sees",
        "a stop in the stream ends cleanly",
        "tool after tool until there is only text",
        ("at the limit the user is told in words", "000's default holds: no limit unless one is set"),
        "a stop reaches the stream and the tool",
    ),
    *_rows(
        "safety S6.",
        "valid arguments: it runs and answers",
        "invalid ones: an error result says which",
        ("too much output is cut with a note", "O1: the limits are 000's; 200 KB is T10's, of tools from YAML"),
        ("over its time it is ended, with an error that says so", "000's 10 s hold"),
        "a command that wipes a root is refused",
        ("commands have no variables but the listed", "X5: a policy, minimal; filtered is the default"),
        "a tool from YAML is there and can be called",
        "its arguments are no shell's",
        "what does not fit its pattern is refused",
        ("reading outside the allowed places is refused", "X6: or asked about, where a person can be"),
        "denied places are denied inside allowed ones",
        "a link that leads outside is refused",
        "variables that a tool declares are given to it",
        "without a person, admin tools are blocked unless they are listed",
    ),
)  # fmt: skip
IDS = frozenset(row.id for row in ROWS)
