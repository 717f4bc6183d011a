"""Judge an error in words that nobody has listed: what it is about, and what is wrong with that.

A topic is a subject and a complaint in one clause, in any order: "balance" and "too low". Codes are read as words, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    ServerError,
)
from agent_ls.patterns import regex

_MAX_CHARS = 2_000  # of a message that are judged
_CLAUSE_END = regex(r"[.;!?]\s|[;。；！\n]")
_WORD_IN_NAME = regex(r"(?<=[a-z0-9])(?=[A-Z])|[-_./]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """`phrases` suffice alone. `unless` are words in the clause that make it one about something else, `never` words
    anywhere in the message.
    """

    kind: type[ProviderError]
    subject: re.Pattern[str] | None = None
    complaint: re.Pattern[str] | None = None
    phrases: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    never: re.Pattern[str] | None = None

    def is_in(self, clause: str) -> bool:
        if self.unless and self.unless.search(clause):
            return False
        if self.phrases and self.phrases.search(clause):
            return True
        is_subject = self.subject is not None and self.subject.search(clause)
        return bool(is_subject and self.complaint and self.complaint.search(clause))


def _any(*words: str) -> re.Pattern[str]:
    return regex("|".join(words))


_NOT = r"(?:\bnot|n't|\bnever|\bno longer)(?: be| been| currently| yet| a| an| exactly)*"
_FIELD = r"\b(parameter|field|propert|argument)\w*\b|\btools?\W{0,2}\d|\bmessages\W{0,2}\d"
_RATE = r"per[ -]?(min|sec|hour)|\b[rt]p[ms]\b|\brates?\b|concurren|\bbucket\b|too quickly|频率|速率|速度|并发|每分钟"

_OVERFLOW = Topic(
    ContextLengthError,
    _any(
        r"\b(prompts?(?! cache)|inputs?|context|conversation|chat history|messages|sequence|seq len|transcript)\b",
        r"\btokens?\b.{0,20}\b(limit|count|number|total|capacity)|\b(limit|count|number|total)\b.{0,20}\btokens?\b",
        r"input tokens|\b(message|request|total|payload) size",
        r"输入|上下文|提示词|请求内容|tokens?.{0,4}(数|长度)|入力|コンテキスト|プロンプト",
    ),
    _any(
        r"\b(too|very) (long|large|big|many)\b|\bexceed|overflow|\b(long|larg|bigg|great)er than\b|\bbeyond\b",
        r"\bover (the|limit)\b|\bmore than\b|(not|n't) fit\b|\b(shorten|reduce) (your|the)\b|\btoo (much|lengthy)\b",
        r"超过|超出|过长|太长|超限|超え|長すぎ|demasiado larg|muito long|zu lang|trop long|слишком длин",
    ),
    unless=_any(
        r"\bimages?\b|description|\btools?\b|functions?\b|schema|metadata|\bname\b|\bids?\b|\bfiles?\b|\bpages?\b",
        r"\bstop\b|time|\bquota|penalty|budget tokens|thinking|credits?|balance|temperature|requests per|nested",
        r"cache (key|breakpoint)|\bblocks\b",
        _RATE,
    ),
)
_SPENT = Topic(
    QuotaExceededError,
    _any(
        r"\b(credits?|balance|funds?|allowance|wallet|subscription|trial|premium requests?|prepaid|included usage)\b",
        r"\b(monthly|weekly|daily|plan|account)('s)? (quota|limit|usage|requests?)\b|\b(spend|spending) (limit|cap)\b",
        r"\bset (\w+ )?limit\b",
        r"额度|余额|套餐|付费|残高|saldo|crédito",
    ),
    _any(
        r"insufficient|\bnot (have )?enough|n't (have )?enough|\btoo low\b|\bnegative\b|exhaust|exceed|\bused\b",
        r"\br[au]n out\b|\bout of\b|expire|\bended\b|deplet|consumed|\breached\b|\bover\b|\bno\b|required|\bzero\b",
        r"不足|用尽|用完|耗尽|到期|过期|超出|失败|insuficiente",
    ),
    _any(
        r"payment (is )?required|no payment method|add a payment|\brecharge\b|\btop[ -]?up\b|\bin arrears\b|past due",
        r"account is not active.{0,20}billing|\bno (quota|credits?) (is |are )?left",
        r"\bno \w+ (\w+ )?(with|has|have) (\w+ )?(quota|credits?)\b",
        r"(session|plan|usage) limit (was |has been |is )?(reached|exceeded|hit)|billing is not (enabled|active)",
        r"quota.{0,20}exhausted.{0,20}(plan|premium)|exhausted your.{0,40}quota|insufficient (quota|balance|credit)",
        r"充值|欠费|余额不足|额度不足",
    ),
    unless=_any(r"max tokens|context|token balance", _FIELD),
    never=_any(_RATE),
)
_FILTERED = Topic(
    ContentFilterError,
    _any(
        r"moderation|guardrails?|content guard|safety|harmful|unsafe|disallowed|inappropriate|prohibited",
        r"(usage|content|our) polic|sensitive (content|information|data|words?)|jailbreak|prompt injection|\bterms\b",
        r"due to policy",
    ),
    _any(
        r"flagged|block|reject|refus|denied|filter|interven|trigger|detect|violat|contain",
        r"checks?\b.{0,40}\bfail|failed check",
    ),
    _any(
        r"\b(content|prompt|input|output)( pattern)? (was |is |has been )?(flagged|blocked)\b|\brequest was flagged",
        r"\bcontent (was|is|has been) (moderated|filtered|censored)\b",
        r"^(unsafe|prohibited|sensitive|inappropriate|harmful) (content|words?)\b|content (blocked|filtered|risk)\b",
        r"敏感|违规|不安全|内容安全",
    ),
    unless=_any(
        r"case[ -]?sensitive|settings?\b|config|organi[sz]ation|data policy|ip address|firewall", _FIELD
    ),
)
_KEY = Topic(
    AuthenticationError,
    _any(
        r"\b(api ?|subscription |license )keys?\b",
        r"\b(bearer|access|auth|provided) tokens?\b|^(invalid|expired) token\b|^token (is|has|was)\b",
        r"authorization header|credentials|^this key\b|unknown key$|令牌|密钥|身份",
    ),
    _any(
        r"invalid|incorrect|wrong|\bbad\b|missing|expired|reject|revoked|disabled|unknown|malformed|required|\bno\b",
        rf"{_NOT} (valid|provide|found|exist|recogni|specified|set)|(unable|failed|fail) to (verify|validate)",
        r"provide an?\b|无效|过期|失败|错误",
    ),
    _any(
        r"authentication (has )?failed|unauthenticated|could not (be )?authenticate",
        r"\b(no|missing) (\w+ )?authentication( \w+)? (found|given|provided|sent)\b",  # Higress
    ),
    unless=_any(
        r"额度|配额|permission|not allowed|used up|limit|idempotency|json|max tokens|logit|available", _FIELD
    ),
)
_DENIED = Topic(
    PermissionDeniedError,
    _any(r"\b(countr(y|ies)|regions?|territor(y|ies)|locations?)\b|地区|国家"),
    _any(rf"{_NOT} (available|supported|allowed)|unsupported|restricted|blocked|unavailable|不支持"),
    _any(
        r"(not|n't) (currently )?(authori[sz]ed|permitted|entitled|allowed) to (access|use|call)\b.{0,20}\b"
        r"(model|endpoint|api)",
        r"(do|does|did)(n't| not) have (access|permission)|\baccess (is |was )?denied|^permission denied",
        r"must be verified to use|requires an? .{0,20}\b(subscription|plan|tier)\b|无权|没有权限",
        r"(not|n't) (available|included|enabled|active|accessible) (on|in|with|for|to|under) (your|this|the) .{0,20}"
        r"\b(plan|tier|subscription|account|organi[sz]ation|project|team|workspace|key)\b",
        r"team not allowed",
    ),
    unless=_any(
        _FIELD,
        r"\binput region",
        r"\bstream|\bcach|structured|reasoning|thinking|instruction|\btools\b|function calling|\bimages?\b",
    ),
)
_NAMED = r"['\"`]?[\w./:@-]*['\"`]?"  # the name of a model, if it is there
_ABSENT = (
    r"(found|located|exist\w*|available|recogni[sz]ed|loaded|hosted|deployed|served|valid|known"
    r"|supported(?! model)|in the list|one of)"
)
_UNKNOWN_MODEL = Topic(
    NotFoundError,
    phrases=_any(
        r"\b(unknown|unsupported|unrecogni[sz]ed|invalid|bad|no such|nonexistent|unavailable) (model|deployment)"
        r"( id| name| identifier)?\b(?! (input|output|param|config|response|type|settings?))",
        r"\b(no|cannot find|can't find|could not find|unable to find|not find) (the |any |a )?(model|deployment)s?\b"
        r"(?! (that|which))",
        r"\bno (endpoints?|deployments?|providers?|channels?|instances?) (were |was )?(found |available )?for\b",
        rf"\b(model|deployment)s?( id| name| identifier)?[:= ]*{_NAMED} ((is|was|are|has|does|could|can|do|did) ?)?"
        rf"{_NOT} (be )?{_ABSENT}(?! (with|for|in|by(?! (any |this |the )?provider)|on|to|when|at|if|and)\b)",
        r"['\"`]?[\w./:@-]+['\"`]? (is|was|does) not (a |an |match any )?(valid|supported|known|available|existing) "
        r"model",
        rf"\bmodel[:= ]*{_NAMED} (was|has been|is) (shut down|removed|sunset|deprecated and)|which is not deployed",
        # api_server.py of ChatGLM: Only chatglm3-6b allowed now, your model chatglm2-6b
        r"\bonly .{1,80} (allowed|available|supported|served|loaded)\b.{0,20}\b(your|the|this|requested) model\b",
        r"\bcannot use (own|this|that) model\b",  # Kong
        r"\bendpoint .{0,40}\bnot found\b",  # SageMaker
        r"模型.{0,30}(不存在|未找到|无效|不可用|无可用渠道|已下线|未配置)|(不支持的|未知|没有找到|找不到|无效的)\s?模型",
    ),
)
_BUSY = regex(
    r"(server|service|system|engine|model|backend|upstream|infrastructure)s? (is |are )?(currently |temporarily )*"
    r"(overloaded|busy|unavailable|unreachable|under (heavy|maintenance)|down|timed out|experiencing)"
    r"|please (try again|retry) later|^(compute|internal( server)?) error|error occurred on the server"
    r"|no instances available"
    r"|\bcrashed\b|channel error|out of memory|cuda error|(engine|worker|process) (died|exited|is dead|was killed)"
    r"|upstream request failed|(系统|服务|模型).{0,4}(繁忙|过载)|请稍[后候]再?(试|重试)"
)

_REFUSAL = regex(
    r"invalid (request|argument|parameter|schema)|bad request|unprocessable|input validation"
    r"|\bparams? [\w. ]{1,40} invalid"  # servers that imitate Kimi
)
"""What a server says of a request that it refuses, also if a proxy calls that a failure."""

_FAILS_ALWAYS = regex(
    r"(render|apply)\w* (the )?(prompt|(chat |prompt )?template)|jinja (exception|error)"
    r"|(chat|prompt) template (error|fail)|issue with the model's prompt template"  # LM Studio
    r"|while executing \w+(expression|statement) at line|unknown \w* ?(\([\w-]+\) )?filter\b"  # llama.cpp
    r"|\bat row \d+, column \d+|raise exception\("
    r"|type undefined is not json serializable|'\w+ object' has no attribute"  # Jinja, behind SGLang and MLX
    r"|code = (invalidargument|outofrange|failedprecondition|unimplemented)\b"  # LocalAI, of its backends
    r"|validationexception|error parsing (the )?(input|request|body)"  # Bedrock through a gateway, KoboldCpp
    # Ollama: model requires more system memory (9.2 GiB) than is available (7.1 GiB)
    r"|requires (more|[\d.]+ ?[kmgt]i?b)\b.{0,80}\bavailable"
)

_TOPICS: Sequence[Topic] = (_SPENT, _OVERFLOW, _FILTERED, _DENIED, _KEY, _UNKNOWN_MODEL)
STATED = (
    QuotaExceededError,
    ContextLengthError,
    ContentFilterError,
    PermissionDeniedError,
    AuthenticationError,
)
"""What a failure of a server and a code may also state. A server that fails often says that it has no model."""


def topic_of(message: str, kinds: Sequence[type[ProviderError]] = ()) -> type[ProviderError] | None:
    """Return the class of the first topic in a message; None if it has none. `kinds`: consider only these."""
    text = message[:_MAX_CHARS].lower().replace("_", " ")
    clauses = [clause.strip() for clause in _CLAUSE_END.split(text)]
    for topic in _TOPICS:
        is_asked = not kinds or topic.kind in kinds
        if is_asked and not (topic.never and topic.never.search(text)) and any(map(topic.is_in, clauses)):
            return topic.kind
    return ServerError if not kinds and is_busy(message) else None


def is_busy(message: str) -> bool:
    """Return whether a server is busy or fails, whatever the status: another try may succeed."""
    text = message[:_MAX_CHARS].lower().replace("_", " ")
    return not is_refused(message) and any(_BUSY.search(clause.strip()) for clause in _CLAUSE_END.split(text))


def is_refused(message: str) -> bool:
    """Return whether a server says that it refuses the request as it is."""
    return _REFUSAL.search(message[:_MAX_CHARS].lower().replace("_", " ")) is not None


def fails_always(message: str) -> bool:
    """Return whether a template of a local model or a backend refuses the conversation, which it does at each try."""
    return _FAILS_ALWAYS.search(message[:_MAX_CHARS].lower().replace("_", " ")) is not None


def topic_of_name(name: str) -> type[ProviderError] | None:
    """Return the class of a code or a type: prompt_too_long, InvalidApiKey."""
    return topic_of(_WORD_IN_NAME.sub(" ", name), (*STATED, NotFoundError))
