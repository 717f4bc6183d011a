"""Refused forms of messages in words that no server is known to use."""

from __future__ import annotations

import pytest

from agent_ls.llm.providers.openai_chat.adaptations import REFUSALS as FORMS
from agent_ls.llm.providers.refused_forms import find_forms, refusal_text
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused

REFUSALS: dict[str, str] = {
    "strings": """
        messages[1].content must be a string
        content: expected string, received array
        Invalid type for messages.0.content: list given, string expected
        message content should be text, not an array
        content has to be of type string
        array content is not supported
        Only string content is supported
        messages.content: str type expected
        invalid type: sequence, expected a string at line 1
        The content field must be of string type
        content 必须是字符串
        could not convert content (list) to str
        can only concatenate str (not "list") to str
        'list' object has no attribute 'strip'
        unhashable type: 'list' in content
    """,
    "filled empty strings": """
        content is required for assistant messages
        assistant message content cannot be null
        messages.2.content: Field required
        Message content must not be empty
        messages[2]: content is missing
        None is not an allowed value for content
        Expected content to be a non-empty string
        content may not be null
        assistant content null is invalid
        消息内容不能为空
        object of type 'NoneType' has no len()
        'NoneType' object is not iterable
        all messages must have non-empty content
        content should not be empty
        missing field `content`
    """,
    "system": """
        role 'system' is invalid, must be user or assistant
        unsupported role: system
        system is not a valid role
        invalid role system
        Only user and assistant roles are supported
        messages[0].role must be one of user, assistant
        roles must strictly alternate
        two consecutive user messages are not allowed
        First message must be from user
        multiple user messages in a row
        Conversation must start with user
        expected role assistant but got user
        不支持 system 角色
        System prompts aren't supported by this model
        the roles user and assistant should alternate
    """,
    "first system": """
        system message should be the first message
        System messages may only appear at the start
        system role must come first
        only one system message is allowed
        system message must be at index 0
        a system message is only allowed at position 0
    """,
    "ids short_ids": """
        tool_call_id does not match the pattern
        Invalid tool call id format
        tool call id must be at most 40 characters
        messages.3.tool_call_id: string too long
        id of tool call contains invalid characters
        toolUseId failed to satisfy constraint: regular expression pattern
    """,
    "reasoning": """
        reasoning_content field is required in assistant messages
        Assistant message must include reasoning_content
        missing reasoning_content for message 3
        reasoning_content cannot be empty in thinking mode
        please pass back reasoning_content
        The reasoning_content should be returned with tool calls
        在思考模式下必须传回 reasoning_content
    """,
    "single": """
        Model supports only one tool call per message
        parallel tool calls unsupported
        multiple tool calls are not supported
        more than one tool call in a message is not allowed
        only a single function call per turn is supported
        tool_calls must have length 1
        不支持并行工具调用
    """,
    "between system": """
        tool message must be followed by assistant
        after a tool message only assistant is allowed
        Unexpected message role user following tool
        user message cannot directly follow tool message
    """,
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [(changes, line.strip()) for changes, lines in REFUSALS.items() for line in lines.strip().split("\n")],
)
def test_the_form_that_a_server_wants_is_known_from_new_words(changes: str, words: str) -> None:
    """Check the change of the messages. `changes`: each of them may help."""
    assert next(find_forms(FORMS, refusal_text(refused("compatible", 400, say(words))))) in changes.split()


OTHER_THINGS = """
    messages.3.content.0.tool_use.id: Field required
    An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.
    messages with role 'tool' must be a response to a preceding message with 'tool_calls'
    No tool output found for function call call_1
    tool_call_id is not found
    Request contains an invalid argument.
    messages: at least one message is required
    The input messages do not contain elements with the role of user
    parallel_tool_calls must be a boolean
    max_tokens is required
"""


@pytest.mark.parametrize("words", OTHER_THINGS.strip().split("\n"))
def test_other_refusals_change_no_messages(words: str) -> None:
    assert [*find_forms(FORMS, refusal_text(refused("compatible", 400, say(words.strip()))))] == []
