"""Pure: convert turns to messages for the model. Only this module does this conversion.

Turns and messages are append-only: the messages of earlier rounds are the same frozen objects in every
request. Messages that a provider would refuse are never created: each call is followed by its result (an
error result if the history lacks one), a result without a call is left out, and an empty answer becomes no
message. A CompactionTurn replaces all messages before it, except the messages that it keeps. All messages are
derived from the list of turns, so removing a CompactionTurn from the end of the list restores the full
history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from agent_ls.llm.messages import (
    ContentPart,
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    system,
    tool_results,
    user,
)
from agent_ls.loop.turns import (
    AssistantTurn,
    CompactionTurn,
    SteeringTurn,
    SystemTurn,
    ToolResultsTurn,
    Turn,
    UserTurn,
)

NO_RESULT = "This call was interrupted before it returned a result. It may have had part of its effect."
NO_IMAGE = "[image left out: the model does not accept it]"
_Change: TypeAlias = Callable[[Message], Message | None]
IMAGE_CHARS = 4_800  # size of an image: one as large as a screen costs about 1,200 tokens


class ConversationHistory:
    """The turns of one session, and the messages built from them.

    `chars` counts the code points of these messages in a request, `tool_chars` the code points of the tool
    results only; both are updated with each turn. `model_calls` counts the model's answers. `compaction` is
    the newest compaction, None if there is none.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns: list[Turn] = []
        self._messages: list[Message] = []
        self._unanswered: tuple[ToolCallPart, ...] = ()
        self._changes: dict[int, list[_Change]] = {}  # what is not sent any more, by the identity of the turn
        self._system = system("")
        self._visible: list[Turn] = []
        self.compaction: CompactionTurn | None = None
        self.chars = 0
        self.tool_chars = 0
        self.model_calls = 0
        for turn in turns:
            self.append(turn)

    @property
    def turns(self) -> Sequence[Turn]:
        return self._turns

    @property
    def visible(self) -> Sequence[Turn]:
        """The turns that are sent as separate messages: the turns since the newest compaction and the turns
        that it kept, or all turns if there was no compaction.
        """
        return self._visible

    def result_texts(self) -> Sequence[str]:
        """Return the texts of the tool results that no compaction has removed."""
        results = (turn.results for turn in self._visible if isinstance(turn, ToolResultsTurn))
        return [str(part.content) for parts in results for part in parts]

    def append(self, turn: Turn) -> None:
        self._turns.append(turn)
        if isinstance(turn, CompactionTurn):
            self._compact(turn)
            return
        self.model_calls += isinstance(turn, AssistantTurn)
        self._show(turn)

    def _compact(self, turn: CompactionTurn) -> None:
        kept = self._visible[max(len(self._visible) - turn.kept_turns, 0) :]
        self.compaction = turn
        # Create new lists, so that a request in flight is not changed.
        self._visible, self._messages, self._unanswered = [], [], ()
        self.chars = self.tool_chars = 0
        if turn.content:
            self._add(user(turn.content))
        for each in kept:
            self._show(each)

    def _show(self, turn: Turn) -> None:
        self._visible.append(turn)
        if isinstance(turn, ToolResultsTurn):
            self._answer_calls(turn.results, turn)
            return
        self._answer_calls((), turn)
        if isinstance(turn, AssistantTurn):
            self._unanswered = turn.tool_calls
        if message := self._changed(turn, message_of(turn)):
            self._add(message)

    def _changed(self, turn: Turn, message: Message | None) -> Message | None:
        for change in self._changes.get(id(turn), ()):
            message = message and change(message)
        return message

    def drop_reasoning(self) -> bool:
        """Send the reasoning of all answers so far no more: the provider refused it. Texts and calls stay.

        Returns whether there was any reasoning, or another item in the provider's own form.
        """
        return self._change(_without_reasoning)

    def drop_images(self) -> bool:
        """Send a text in place of each image so far: the provider refused one. Returns whether there was any."""
        return self._change(_without_images)

    def drop_earlier_images(self) -> bool:
        """Send a text in place of each image, except those of the newest turn that has some: the request was too large.

        Returns whether there was any.
        """
        sent = (
            turn for turn in reversed(self._visible) if _without_images not in self._changes.get(id(turn), ())
        )
        return self._change(_without_images, spared=next(filter(_has_images, sent), None))

    def _change(self, change: _Change, spared: Turn | None = None) -> bool:
        changed = [change(message) for message in self._messages]
        if spared is not None:
            last = max(place for place, message in enumerate(self._messages) if changed[place] != message)
            changed[last] = self._messages[last]
        plain = [message for message in changed if message]
        if plain == self._messages:
            return False
        for turn in self._visible:
            if turn is not spared:
                self._changes.setdefault(id(turn), []).append(change)
        self._messages, self.chars, self.tool_chars = [], 0, 0
        for message in plain:
            self._add(message)
        return True

    def messages(self, system_prompt: str) -> tuple[Message, ...]:
        """Return all messages of the next request. If the history ends with calls without results, these calls
        get error results, because providers refuse a call without a result.
        """
        if system_prompt != self._system.text:
            self._system = system(system_prompt)
        prompt = (self._system,) if system_prompt else ()
        missing = (_results_message(self._unanswered, ()),) if self._unanswered else ()
        return (*prompt, *self._messages, *missing)

    def _answer_calls(self, results: Sequence[ToolResultPart], turn: Turn) -> None:
        if self._unanswered and (message := self._changed(turn, _results_message(self._unanswered, results))):
            self._add(message)
            self._unanswered = ()

    def _add(self, message: Message) -> None:
        self._messages.append(message)
        chars = _chars(message)
        self.chars += chars
        self.tool_chars += chars if message.role is Role.TOOL else 0


def message_of(turn: UserTurn | AssistantTurn | SystemTurn | SteeringTurn | CompactionTurn) -> Message | None:
    """Return the message of a turn, or None for a turn without content, for example an empty answer."""
    match turn:
        case AssistantTurn():
            return _without_empty_parts(turn.message)
        case SystemTurn():
            return Message(Role.DEVELOPER, (TextPart(turn.content),)) if turn.content else None
        case CompactionTurn():
            return None  # `ConversationHistory` replaces all earlier messages when this turn is added
        case UserTurn() | SteeringTurn():
            context = turn.context if isinstance(turn, UserTurn) else ""
            text = tuple(TextPart(words) for words in (turn.content, context) if words)
            return Message(Role.USER, (*text, *turn.images)) if text or turn.images else None


def _without_empty_parts(message: Message) -> Message | None:
    """Remove empty texts, because providers refuse them. Parts with a provider-specific item stay."""
    kept = tuple(part for part in message.parts if not _is_empty(part))
    if len(kept) == len(message.parts):
        return message if kept else None
    return Message(message.role, kept) if kept else None


def _without_reasoning(message: Message) -> Message | None:
    """Return an answer as another model would get it: only its texts and calls; None if it has neither."""
    if message.role is not Role.ASSISTANT:
        return message
    parts = tuple(
        part if part.origin is None else replace(part, origin=None)
        for part in message.parts
        if isinstance(part, TextPart | ToolCallPart)
    )
    if parts == message.parts:
        return message
    return _without_empty_parts(Message(message.role, parts))


def _has_images(turn: Turn) -> bool:
    if isinstance(turn, ToolResultsTurn):
        return any(result.images for result in turn.results)
    return isinstance(turn, UserTurn | SteeringTurn) and bool(turn.images)


def _without_images(message: Message) -> Message:
    parts = tuple(map(_without_image, message.parts))
    return message if parts == message.parts else Message(message.role, parts)


def _without_image(part: ContentPart) -> ContentPart:
    if isinstance(part, ImagePart):
        return TextPart(NO_IMAGE)
    if isinstance(part, ToolResultPart) and part.images:
        return replace(part, content=f"{part.content}\n{NO_IMAGE}".lstrip(), images=())
    return part


def _is_empty(part: ContentPart) -> bool:
    return isinstance(part, TextPart | ReasoningPart) and not part.text and part.origin is None


def missing_result(call: ToolCallPart) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, NO_RESULT, is_error=True)


def _results_message(calls: Sequence[ToolCallPart], results: Sequence[ToolResultPart]) -> Message:
    """Return a message with one result for each call, in the order of the calls.

    If two calls have the same id, results are assigned to them in order.
    """
    left = list(results)
    answers = []
    for call in calls:
        found = next((result for result in left if result.tool_call_id == call.id), None)
        if found:
            left.remove(found)
        answers.append(found or missing_result(call))
    return tool_results(answers)


def _chars(message: Message) -> int:
    total = 0
    for part in message.parts:
        match part:
            case TextPart(text=text) | ReasoningPart(text=text):
                total += len(text)
            case ToolCallPart():
                total += len(part.name) + len(part.arguments)
            case ToolResultPart():
                total += len(part.content) + IMAGE_CHARS * len(part.images)
            case ImagePart():
                total += IMAGE_CHARS
            case _:
                pass
    return total
