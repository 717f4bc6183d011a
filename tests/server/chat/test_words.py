"""Descriptions of an action in the approval prompt of an editor."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.effects import CommandEffect, PlannedWrite, TrustEffect, WriteEffect
from agent_ls.loop.calls.approval import effect_json
from agent_ls.loop.events.types import ApprovalRequested, Envelope
from agent_ls.server.chat.code_actions import approval_offers
from agent_ls.server.chat.transcript import HOW, ChatTranscript
from agent_ls.server.chat.words import diffs, question

HIDING = "ls \x1b];rm -r build;\x07"
WHOLE = "ls \u241b];rm -r build;\u2407"


def asked(effect: Any) -> ApprovalRequested:
    return ApprovalRequested("r", "c", "shell", HIDING, "because", effect_json(effect), effect.digest)


@pytest.mark.req("H7", "H8")
def test_an_escape_sequence_hides_no_part_of_a_command_or_change_under_approval() -> None:
    command = asked(CommandEffect(HIDING, "/w", (("NAME", HIDING),)))
    typed = asked(CommandEffect(HIDING, "/w", input_of="p1"))
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\r\n+{HIDING}\r\n"
    write = asked(WriteEffect((PlannedWrite("/w/a.py", "modify", diff, "k"),)))

    assert f"\nNAME={WHOLE} {WHOLE}\n" in question(command)
    assert f":\n{WHOLE}\n" in question(typed)
    assert f"-old\n+{WHOLE}\n" in diffs(write)
    assert WHOLE in approval_offers(command, "s")[1].title


@pytest.mark.req("H7", "H8")
def test_the_reason_of_an_approval_is_in_the_chat() -> None:
    request = asked(CommandEffect("ls", "/w"))
    text = ChatTranscript().feed(Envelope("s-1", 1, "2026-01-01T00:00:00.000Z", request, turn_id="t-1"))
    assert text.endswith(f"```sh\nls\n```\n\n> because\n> {HOW}\n")


@pytest.mark.req("H7", "H8")
def test_the_trust_question_is_not_phrased_as_allow_once() -> None:
    offered = approval_offers(asked(TrustEffect("/w", "s")), "s", "b.agent.md")
    assert [offer.title.partition(":")[0] for offer in offered] == ["Do not trust it", "Trust this folder"]
    assert all(offer.title.endswith(" (b.agent.md)") for offer in offered)


@pytest.mark.req("H7", "H8")
def test_a_small_change_is_displayed_in_its_prompt_and_a_large_one_is_not() -> None:
    def change(count: int) -> str:
        body = "".join(f"-old {n}\n+new {n}\n" for n in range(count))
        diff = f"--- a/a.py\n+++ b/a.py\n@@ -1,{count} +1,{count} @@\n{body}"
        return question(asked(WriteEffect((PlannedWrite("/w/a.py", "modify", diff, "k"),))))

    assert change(1) == "agent-ls wants to modify /w/a.py:\n-old 0\n+new 0\n(because)"
    assert change(4) == "agent-ls wants to modify /w/a.py\n(because)"
