"""Judge a finish reason that no table has by its words: servers and gateways invent new ones."""

from __future__ import annotations

import re

from agent_ls.llm.requests import FinishKind
from agent_ls.patterns import regex

_KINDS: tuple[tuple[re.Pattern[str], FinishKind], ...] = (
    # MAX_TOKENS, ERROR_LIMIT, context_window_exceeded; not rate_limit
    (regex(r"length|max_?\w*(tokens|len)|context|(?<!rate.)limit", re.IGNORECASE), "length"),
    # content_filtered, guardrail_intervened, ERROR_TOXIC, PROHIBITED_CONTENT
    (
        regex(
            r"filter|safety|toxic|guard|prohibit|block|spii|recitation|refus|moderat|policy|sensitive|violat",
            re.IGNORECASE,
        ),
        "content_filter",
    ),
    # UNEXPECTED_TOOL_CALL, malformed_model_output, preempt, cancelled, repetition
    (
        regex(
            r"error|fail|abort|cancel|malformed|preempt|unexpected|repetition|time_?out|unavailable|insufficient"
            r"|overload|too_many|rate_limit|interrupt|disconnect|evict|missing",
            re.IGNORECASE,
        ),
        "error",
    ),
    # REASON_STOP, recover_stop
    (regex(r"stop|complete|finished|end_turn|\beos", re.IGNORECASE), "stop"),
)


def worded_finish(raw: str) -> FinishKind:
    """Return the kind that the words of a finish reason say, "other" if they say none."""
    return next((kind for words, kind in _KINDS if words.search(raw)), "other")
