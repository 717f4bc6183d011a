"""Ask whether to save unsaved documents before a command runs: once, and only an explicit yes saves them."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from agent_ls.server.editor.ask_to_save import LEAVE, SAVE, AskToSave

pytestmark = pytest.mark.req("H8", "H17")


class User:
    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, question: str, answers: Sequence[str]) -> str:
        assert answers == (LEAVE, SAVE)
        self.asked.append(question)
        answer = self.answers.pop(0)
        if answer is None:
            raise ConnectionError("the editor does not know the request")
        return answer


@pytest.mark.parametrize(("answer", "saves"), [(SAVE, True), (LEAVE, False)])
async def test_save_or_do_not_save_answer_applies_to_all_waiting_commands(answer: str, saves: bool) -> None:
    user = User(answer)
    asks = AskToSave(user.ask)
    answers: list[bool] = []

    async def command() -> None:
        answers.append(await asks(["/w/a.py", "/w/b.py", "/w/c.py", "/w/d.py"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(command)
        tasks.start_soon(command)

    assert answers == [saves, saves]
    (question,) = user.asked
    assert "a.py, b.py, c.py and 1 more" in question


@pytest.mark.parametrize("answer", ["", "Yes", None])
async def test_unclear_answer_to_the_save_question_means_do_not_save_for_all_commands(
    answer: str | None,
) -> None:
    user = User(answer, SAVE)
    asks = AskToSave(user.ask)

    assert [await asks(["/w/a.py"]), await asks(["/w/a.py"])] == [False, False]
    assert len(user.asked) == 1
