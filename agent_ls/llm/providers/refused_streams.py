"""Recognise servers that answer only as a stream, or never as one."""

from __future__ import annotations

import re

from agent_ls.llm.errors import LlmError, is_refusal
from agent_ls.patterns import regex

# DashScope: This model only support stream mode, please enable the stream parameter to access the model.
# ChatGPT: Stream must be set to true / Fireworks: Requests with max_tokens > 4096 must have stream=true
# Qwen 3: parameter.enable_thinking must be set to false for non-streaming calls, also in Chinese
# ModelScope: enable thinking can not be support when `stream=False`
_DEMANDED = regex(
    r"only support(s|ed)?\b.{0,40}\bstream|only (accepts? )?stream|\bnon[- _]?stream"
    r"|\bstream(ing)?\b\W{0,3}(\w+ ){0,2}(must|should|needs? to|has to) be\b.{0,12}(true|enabled|set|used)"
    r"|must (be )?(have|use|set|enable)\w*\b.{0,20}\bstream|\bstream\W{0,5}true\b|streaming is (required|mandatory)"
    r"|(requires?|please (use|enable|set)|need to (use|enable|set)) (the )?\W?stream"
    r"|\bstream\W{0,5}false\b.{0,30}\bnot\b|\bnot (be )?support\w* (when|if|with)\b.{0,5}\bstream\W{0,5}false"
    r"|非流式|\bincremental_output\b.{0,20}\btrue\b",
    re.IGNORECASE,
)
_REFUSED = regex(
    r"\bstream(ing)?\b.{0,40}\b(not|un)[ -]?(be |currently |yet |been )*(supported|enabled|allowed|available)"
    r"|(not|n't) (currently |yet )?support (\w+ )?stream|unsupported for stream",
    re.IGNORECASE,
)


def demands_stream(error: LlmError) -> bool:
    """Return whether a server refuses a request because it is not streamed."""
    return is_refusal(error) and _DEMANDED.search(str(error)) is not None


def refuses_stream(error: LlmError) -> bool:
    """Return whether a server refuses a request because it is streamed."""
    return is_refusal(error) and _REFUSED.search(str(error)) is not None and not demands_stream(error)
