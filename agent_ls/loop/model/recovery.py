"""Decide whether a refused request can be sent once more: with a shorter conversation, or without old reasoning."""

from __future__ import annotations

import re

from agent_ls.llm.errors import (
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    ProviderError,
)
from agent_ls.patterns import regex

NEAR_SHARE = 0.8
"""From this share of the context window on, an unexplained refusal may mean that the request is too long."""

REASONING_DROPPED = (
    "The provider refused the model's earlier reasoning, for example because the key or the server has changed. "
    "The conversation continues without it."
)

IMAGES_DROPPED = (
    "The provider refused an image of this conversation. The conversation continues without its images."
)

IMAGES_TOO_LARGE = (
    "The request was larger than the provider allows. The conversation continues without its earlier images."
)

# examples: invalid_encrypted_content / Item with id 'rs_1' not found / Invalid `signature` in `thinking` block
# / Thought signature is not valid / thinking blocks in the latest assistant message cannot be modified
_REASONING = regex(
    r"encrypted.?content|signature|thinking.{0,3} (block|or `?redacted)|redacted_thinking|thought_?signature"
    r"|\b(rs|fc|msg|ctc|ws)_\w+|reasoning (item|content|block|details|part|text)|reasoning_(content|details)"
    r"|decrypt|(reasoning|thinking|thought)s?\b.{0,60}(verif|valid|corrupt|restor|mismatch|modif|payload|signed)"
    r"|(verif|valid|corrupt|restor|unrecogni)\w*\b.{0,40}\b(reasoning|thought)|推理.{0,8}(签名|无效)"
    r"|type .?reasoning|previous reasoning|item with id|thinking\.(signature|thinking)"
    # llama.cpp: Cannot determine type of 'item' / item['content'] is empty
    r"|type of .item.|item\[.content.\] is"
    # another server of the Responses API: Unknown parameter: 'input[3].status' / `input[87]` missing required field
    r"|input(\[\d+\]|/\d+)\W{0,2}([./]?(status|summary|phase|action|id|encrypted\w*)\b|\s*missing)"
    r"|unsupported content type\W*$"  # ChatGPT, of reasoning
    # a server that does not know the provider's own items: unknown input type: web_search_call
    r"|(unknown|unsupported|unrecogni[sz]ed|unexpected) (input|item)( item)? type|value: '\w+_(call|output)'",
    re.IGNORECASE,
)


# examples: image exceeds 5 MB maximum / media exceeds size limit: max 10485760 bytes
# / unknown variant `image_url`, expected `text` / does not support image input
# / Output of tool call should be 'Input text' / Unexpected item type in content / Param Incorrect: `text` is not set
# / Unsupported MIME type: application/pdf; as codes: invalid_union, invalid_image_format
_IMAGES = regex(
    r"\b(images?|llava|mmproj|media|pictures?|photos?)\b|image_url|base64|data ur[il]|download|modalit|text[ -]only"
    r"|图[片像]|多模态"
    r"|only \W?(text|(support|accept|allow|take)\w* text)|content must be a string"
    r"|input_image|\bvision\b|multimodal|should be .?input.?text"
    r"|\boutput\b.{0,60}(valid string|expected a string)"
    r"|item type|content (type|part)\b.{0,40}content|`?text`? is not set|content\.type"
    r"|mime.?type|invalid_union|_image(_|\b)",
    re.IGNORECASE,
)
# A refusal without a reason: HTTP 400: Invalid input / HTTP 400: Bad Request / HTTP 400
_UNSTATED = regex(
    r"\(HTTP 4\d\d\)(: (invalid (input|request|argument)s?( error)?|bad request))?\W*$", re.IGNORECASE
)


def is_overflow(error: LlmError, request_tokens: int, window_tokens: int) -> bool:
    """Return whether a shorter conversation may help. `request_tokens` is the estimated size of the request."""
    if isinstance(error, ContextLengthError):
        return True
    return type(error) is InvalidRequestError and 0 < window_tokens * NEAR_SHARE <= request_tokens


def refuses_reasoning(error: LlmError) -> bool:
    """Return whether the provider refused items of earlier answers, such as encrypted reasoning or signatures."""
    if error.is_cut or not isinstance(error, InvalidRequestError | NotFoundError):
        return False
    code = f"{error.code} {error.param}" if isinstance(error, ProviderError) else ""
    return not isinstance(error, ContextLengthError) and bool(_REASONING.search(f"{code} {error}"))


def refuses_images(error: LlmError) -> bool:
    """Return whether the provider refused an image, or gave no reason: each later request would fail as well."""
    if error.is_cut or not isinstance(error, InvalidRequestError | NotFoundError):
        return False
    code = error.code if isinstance(error, ProviderError) else ""
    is_refusal = _IMAGES.search(f"{code} {error}") or _UNSTATED.search(str(error))
    return not isinstance(error, ContextLengthError) and bool(is_refusal)
