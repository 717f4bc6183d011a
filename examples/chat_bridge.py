"""A bridge to a chat service that calls back in threads of its own: python examples/chat_bridge.py FOLDER [PROVIDER]

Each line of standard input is a message of a channel: "stop", "yes ID", "no ID", or a text for the agent.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future

import agent_ls


class Channel:
    """One channel of the chat service is one session."""

    def __init__(self, folder: str, provider: str) -> None:
        self.decisions: dict[str, Future[bool]] = {}
        self.session = agent_ls.open_session_sync(
            folder, provider=provider, trusted=True, approve=self.approve, answer=self.answer
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def post(self, text: str) -> None:
        print(text, flush=True)

    def approve(self, request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer:
        """Runs in a thread, so it may wait until somebody in the channel has decided."""
        decision = self.decisions[request.request_id] = Future()
        self.post(f"{request.request_id}: may I? {request.tool} {request.summary}")
        if decision.result():
            return agent_ls.ApprovalAnswer("allow", decided_by="channel")
        return agent_ls.ApprovalAnswer("deny", reason="Not in this channel.", decided_by="channel")

    def answer(self, question: agent_ls.QuestionAsked) -> None:
        self.post(f"{question.question} (decide yourself)")

    def read(self) -> None:
        for event in self.session.events():
            match event:
                case agent_ls.AssistantTextEnd(agent_id="", text=text):
                    self.post(text)
                case agent_ls.Error(message=message, hint=hint):
                    self.post(f"{message} {hint}")
                case agent_ls.ProcessingEnd(reason=reason):
                    self.post(f"-- {reason}")
                case _:
                    pass

    def on_message(self, text: str) -> None:
        """May be called from any thread. `send` starts a turn, or steers the one that runs."""
        word, _, request_id = text.partition(" ")
        if text == "stop":
            self.session.interrupt()
        elif word in ("yes", "no") and (decision := self.decisions.pop(request_id, None)):
            decision.set_result(word == "yes")
        else:
            self.session.send(text)


def main(folder: str, provider: str = "") -> None:
    channel = Channel(folder, provider)
    for line in sys.stdin:
        if text := line.strip():
            channel.on_message(text)
    channel.session.close()
    channel.reader.join()


main(*sys.argv[1:])
