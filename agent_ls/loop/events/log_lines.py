"""Pure: format an event as a line of the process log. The line contains only numbers and names, no text from
the user, the model or a file.
"""

from __future__ import annotations

from agent_ls.loop.events.types import (
    ApprovalResolved,
    Envelope,
    Error,
    ProcessingEnd,
    Retry,
    SessionEnd,
    SessionStart,
    ToolCallEnd,
    UsageReport,
    Warning,
)


def log_line(envelope: Envelope) -> str:
    """Return the log line for an event, "" for an event that is not logged."""
    match envelope.event:
        case SessionStart(provider=provider, model=model, resumed=resumed):
            said = f"session {'resumed' if resumed else 'begun'} provider={provider} model={model}"
        case UsageReport(call=usage, duration_ms=duration_ms, first_output_ms=first_ms):
            said = (
                f"model_call ms={duration_ms} first_output_ms={first_ms} input={usage.input_tokens} "
                f"output={usage.output_tokens} cache_read={usage.cache_read_tokens}"
            )
        case ToolCallEnd(name=name, duration_ms=duration_ms, error_kind=kind, output_chars=chars):
            said = f"tool name={name} ms={duration_ms} chars={chars} result={kind or 'ok'}"
        case ApprovalResolved(decision=decision, decided_by=by):
            said = f"approval decision={decision} by={by}"
        case Retry(attempt=attempt, delay_ms=delay_ms, error_kind=kind):
            said = f"retry attempt={attempt} delay_ms={delay_ms} error={kind}"
        case Error(error_kind=kind):
            said = f"error kind={kind}"
        case Warning(code=code):
            said = f"warning code={code}"
        case ProcessingEnd(reason=reason):
            said = f"turn_end reason={reason}"
        case SessionEnd(reason=reason):
            said = f"session_end reason={reason}"
        case _:
            return ""
    who = f" agent={envelope.agent_id}" if envelope.agent_id else ""
    return f"{said} session={envelope.session_id} turn={envelope.turn_id}{who}"
