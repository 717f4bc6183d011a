"""A session as one web page: untrusted text stays text, nothing is loaded, and redaction covers every text (H2, X)."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Literal

import pytest
from hypothesis import given, strategies as st

from agent_ls.features.recording.sharing import Redaction
from agent_ls.llm.requests import Usage
from agent_ls.loop.context.titles import title_of
from agent_ls.loop.events.evidence import TurnFacts
from agent_ls.loop.events.figures import RoundFigures
from agent_ls.loop.events.items import (
    AskedApproval,
    AskedQuestion,
    Body,
    ChangedFile,
    FileSum,
    Item,
    Notice,
    RetriedCall,
    RollBack,
    SaidItem,
    StartedAgent,
    SteerMessage,
    ToolUse,
    TurnEnd,
    UserMessage,
)
from agent_ls.loop.events.types import (
    ApprovalRequested,
    FileChange,
    QuestionAsked,
    Reverted,
    RevertedFile,
    SubagentChanged,
    ToolCallEnd,
)
from agent_ls.sessions.export.changes import ChangedLines, ExportedChange
from agent_ls.sessions.export.clean_items import clean_item
from agent_ls.sessions.export.html_page import page
from agent_ls.sessions.export.html_text import prose
from agent_ls.tools.look import LookKind

ALLOWED_TAGS = set(
    "html head meta title style body header h1 h2 h3 dl dt dd main section time div details summary pre span "
    "code p strong ul li footer table thead tbody tfoot tr th td".split()
)
ALLOWED_ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "open"}
HOSTILE = (
    "</pre></style></title><script>document.title='owned'</script>",
    "<img src=http://127.0.0.1:1/x onerror=alert(1)>",
    '"\' onload=alert(1) x="<svg/onload=alert(1)>',
    "```\n</pre><script>1</script>\n```\n--><iframe src=//a>",
    "\x1b]0;title\x07\x00\u202egnp.exe\ud800",
)


class Page(HTMLParser):
    """The elements of a page: tags, attributes, and the text of all elements except the style sheet."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.classes: list[str] = []
        self.words: list[str] = []
        self.style = ""
        self.policy = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(found)
        self.classes += (found.get("class") or "").split()
        if tag == "meta":
            self.policy = found.get("content") or "" if "http-equiv" in found else self.policy
        else:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def is_balanced(self) -> bool:
        return not self._open


def bodies(text: str) -> list[Body]:
    """Return one body of each kind, with `text` in every field that a user, a model, a tool or a file can fill."""
    end = ToolCallEnd("c", text, text, text, False, "", 5, 4)
    asked = QuestionAsked("q", "c", text, (text,))
    return [
        UserMessage(text),
        SteerMessage("s", text, "injected"),
        SaidItem("text", "p", text),
        SaidItem("reasoning", "r", text),
        ToolUse("c", text, text, text, "done", end),
        ChangedFile(FileChange("c", text, "modify", 1, 1, f"--- a\n+++ b\n@@ -1 +1 @@\n-{text}\n+{text}\n")),
        AskedApproval(ApprovalRequested("a", "c", "shell", text, text, {}, ""), "deny", text, command=text),
        AskedQuestion(asked, "answered", (text,)),
        StartedAgent(SubagentChanged("agent-1", "completed", "c", text, "m", text, output=text)),
        RetriedCall(1, 100, text),
        Notice("error", text, text),
        TurnEnd("completed", (FileSum(text, "modify", 1, 1),)),
        RollBack(Reverted("r", "t", True, ("t",), (), (RevertedFile(text, "modify", "restored"),))),
    ]


def items(text: str) -> list[Item]:
    return [Item(n, "t", "now", body, "agent-1") for n, body in enumerate(bodies(text), start=1)]


def check_is_inert(source: str) -> Page:
    found = Page(source)
    assert found.is_balanced
    assert found.tags <= ALLOWED_TAGS and found.attributes <= ALLOWED_ATTRIBUTES
    digest = base64.b64encode(hashlib.sha256(found.style.encode()).digest()).decode()
    assert found.policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in found.policy
    return found


@pytest.mark.req("H2")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_everywhere_in_the_html_export(text: str) -> None:
    source = page(text, [("Folder", text)], items(text), [])

    check_is_inert(source)
    source.encode("utf-8")  # a lone surrogate could not be written to a file
    assert not {"\x00", "\x1b", "\u202e"} & set(source)


@given(st.text(alphabet="<>&\"'`/!-=\n aé~", max_size=40))
def test_any_message_text_is_readable_and_inert_in_the_html_export(text: str) -> None:
    found = check_is_inert(page("t", [], [Item(1, "t", "now", UserMessage(text))], []))
    if not {"`", "~"} & set(text):
        assert text.strip("\n") in "".join(found.words) or not text.strip()


def test_diff_lines_get_css_classes_and_costs_are_summed_per_turn() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n kept\n-- old\n+new\n@@ -9,1 +9,0 @@\n-last\n"
    change = ChangedFile(FileChange("c", "/w/x", "modify", 1, 1, diff))
    rounds = [
        RoundFigures("t1", "", 5, 5, Usage(1000, 10, cache_read_tokens=500), 0.25, 0, 0, 0, 0),
        RoundFigures("t1", "", 5, 5, Usage(2000, 20), 0.5, 0, 0, 0, 0),
        RoundFigures("t2", "", 5, 5, Usage(1, 2), None, 0, 0, 0, 0),
    ]
    source = page("Fix", [], [Item(1, "t1", "now", change)], rounds)
    found = check_is_inert(source)

    assert [kind for kind in found.classes if kind in ("add", "del", "hunk")] == ["del", "add", "hunk", "del"]
    assert '<span class="del">-- old</span>' in source and "--- a/x" not in source
    assert "<tr><th>1</th><td>2</td><td>3,000</td><td>500</td><td>30</td><td>0.7500</td></tr>" in source
    assert "<td>unknown</td></tr>" in source and "<td>at least 0.7500</td></tr></tfoot>" in source


def shown_turn(*bodies: Body) -> str:
    return page("Fix", [], [Item(n, "t", "now", body) for n, body in enumerate(bodies, 1)], [], folder="/w")


def tool(call_id: str, look: LookKind, name: str, *, is_error: bool = False) -> ToolUse:
    end = ToolCallEnd(call_id, name, "out of it", "", is_error, "", 5, 4)
    status: Literal["failed", "done"] = "failed" if is_error else "done"
    return ToolUse(call_id, name, f"/w/{call_id}.py", "{}", status, end, look=look, done="Read")


def edit(call_id: str) -> tuple[ToolUse, AskedApproval, ChangedFile]:
    asked = ApprovalRequested("a", call_id, "edit_file", "edit x", "", {}, "")
    change = FileChange(call_id, f"/w/{call_id}.py", "modify", 2, 1, "@@ -1 +1 @@\n-a\n+b\n")
    return tool(call_id, "edit", "edit_file"), AskedApproval(asked, "allow", ""), ChangedFile(change)


def test_the_steps_of_a_turn_are_one_fold_between_question_and_answer() -> None:
    source = shown_turn(
        UserMessage("why?"),
        tool("a", "read", "read_file"),
        tool("b", "read", "read_file", is_error=True),
        tool("c", "execute", "shell"),
        *edit("d"),
        SaidItem("text", "p", "because"),
        TurnEnd("completed", (FileSum("/w/d.py", "modify", 2, 1),)),
    )
    found = check_is_inert(source)

    assert [kind for kind in found.classes if kind in ("user", "steps", "said")] == ["user", "steps", "said"]
    assert "Read 2 files, changed 1 file, ran 1 command" in source
    assert found.classes.count("failed") == 2, "the fold and the call"
    assert source.index('class="steps"') < source.index("out of it") < source.index("because")


def test_a_fold_names_its_only_failed_call_and_counts_several() -> None:
    for failed, said in (
        (1, "<code>c0.py</code> failed</span></summary>"),
        (2, '<span class="failed">2 failed</span></summary>'),
    ):
        calls = [tool(f"c{n}", "execute", "shell", is_error=n < failed) for n in range(3)]
        assert said in shown_turn(UserMessage("why?"), *calls), failed


def test_an_edit_is_one_row_with_its_decision_and_paths_are_relative() -> None:
    copy = ChangedFile(FileChange("w", "/w/d.py", "modify", 2, 1, "", copy_of="/tree/d.py"))
    facts = TurnFacts("Since the last change: `make <x>` passed.", 1)
    end = TurnEnd("completed", (FileSum("/w/d.py", "modify", 2, 1),), facts)
    source = shown_turn(*edit("d"), copy, end)
    check_is_inert(source)
    assert "<code>make &lt;x&gt;</code> passed" in source

    assert source.count("<details") == 1 and source.count("<details open") == 0
    assert "allowed" in source and "edit_file" not in source and "/w/" not in source


def test_the_outcome_counts_what_was_not_undone_and_the_title_is_whole() -> None:
    long = "Rename the function old in cart.py to something that says what it does"
    lines = [ChangedLines("/w/a.py", 1, ["x"], ["y", "z"]), ChangedLines("/w/b.py", 1, [], ["q"])]
    changes = [
        ExportedChange(name, name, (), "", [line])
        for name, line in zip(("kept", "undone"), lines, strict=True)
    ]
    items = [Item(1, "t", "now", UserMessage(f"{long}\n\nThanks."))]
    found = check_is_inert(page(title_of(long), [], items, [], changes, folder="/w"))

    said = " ".join(found.words).split("Changes in reading order")[0]
    assert "1 file changed" in said and "+2" in said and "b.py" not in said
    assert found.words.count(long) == 2, "the title of the window and of the page"


@pytest.mark.parametrize(
    ("answer", "tags"),
    [
        ("# Done\n\nIt **is** `x`", ["div", "strong", "strong", "code"]),
        ("| a | b |\n| - | :-: |\n| 1 | `2` |", ["table", "tr", "th", "th", "tr", "td", "td", "code"]),
        ("2 ** 3 ** 4", ["div"]),
        ("| no table |", ["div"]),
        ("`**kwargs` and **bold `code`**", ["div", "code", "code"]),
    ],
)
def test_an_answer_keeps_its_code_tables_and_stressed_words(answer: str, tags: list[str]) -> None:
    assert re.findall(r"<(\w+)", prose(answer)) == tags


SECRET = "sk-ant-" + "a1B2" * 8
PRIVATE = [
    SECRET,
    "configured & <key>",
    "/home/ada/project/x.py",
    "/home/user/x",
    "file:///home/ada/y",
    "ada-l@navy.example",
    "on host cobol-7 now",
]


def redaction() -> Redaction:
    return Redaction(home="/home/ada", user="ada-l", host="cobol-7", known=["configured & <key>"])


@pytest.mark.req("H2")
@pytest.mark.parametrize("text", PRIVATE)
def test_redaction_reaches_every_text_of_every_item(text: str) -> None:
    clean = redaction().redact_text
    source = page(clean(text), [], [clean_item(item, clean) for item in items(text)], [])

    assert not any(word in source for word in ("ada-l", "/home", "cobol", "sk-ant", "configured", "navy"))


def test_equal_secrets_get_equal_placeholders_and_project_paths_stay_readable() -> None:
    clean = redaction().redact_text
    other = SECRET.replace("a1", "z9")

    assert clean(SECRET) == clean(SECRET) != clean(other)
    assert clean("see /home/ada/shop/cart.py:3") == "see ~/shop/cart.py:3"
    assert clean("/home/user/x src/home/u -I/home/user/include") == "~/x src/home/u -I~/include"
    assert clean(r"C:\\Users\\ada\\shop") == r"~\\shop"
