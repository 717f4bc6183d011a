"""Pure: a transcript as one HTML page that loads no resources and runs no scripts.

Text from the user, the model and tools is not trusted. All of this text is escaped and never used as an
attribute or a link, and the page's Content Security Policy allows nothing except its own style sheet, by hash.
The page has no script: collapsible parts are `details` elements.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

from agent_ls.loop.context.titles import title_of
from agent_ls.loop.events.figures import RoundFigures
from agent_ls.loop.events.items import Item, UserMessage
from agent_ls.sessions.export.changes import STATE_WORDS, ChangedLines, ExportedChange
from agent_ls.sessions.export.html_style import STYLE
from agent_ls.sessions.export.html_text import counted, css_class, inline, lines_changed, text
from agent_ls.sessions.export.html_turns import relative, turns
from agent_ls.text import to_display_line

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
_LONG_TITLE = 200  # characters


def page(
    title: str,
    facts: Sequence[tuple[str, str]],
    items: Sequence[Item],
    rounds: Sequence[RoundFigures],
    changes: Sequence[ExportedChange] = (),
    folder: str = "",
) -> str:
    """Return the page. `facts` are listed at the top of the page, `items` are ordered from old to new.

    `rounds` are the model calls whose tokens and costs are listed per turn, `changes` are in reading order. Paths
    below `folder` are relative to it.
    """
    name = text(to_display_line(_whole_title(title, items), _LONG_TITLE) or "Session")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{STYLE}</style></head><body>",
        f"<header><h1>{name}</h1><dl>",
        *(f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd></div>" for label, value in facts),
        "</dl>",
        *_outcome(items, rounds, changes, folder),
        "</header><main>",
        *turns(items, folder),
        "</main>",
        *_changes(changes, folder),
        *_costs(rounds),
        '<p class="dim">A session of agent-ls.</p></body></html>',
    ]
    return "\n".join(parts) + "\n"


def _whole_title(title: str, items: Sequence[Item]) -> str:
    """Return the title; one that was cut off, as the whole first line of the message from which it was taken."""
    first = next((item.body.text for item in items if isinstance(item.body, UserMessage)), "")
    whole = title_of(first, _LONG_TITLE)
    return whole if title.endswith("\u2026") and whole.startswith(title[:-1]) else title


def _outcome(
    items: Sequence[Item], rounds: Sequence[RoundFigures], changes: Sequence[ExportedChange], folder: str
) -> Iterator[str]:
    """Yield what came of it: the files as they are now, turns and costs."""
    places = [place for change in changes if change.state != STATE_WORDS["undone"] for place in change.places]
    files: dict[str, tuple[int, int]] = {}
    for place in places:
        added, removed = files.get(place.path, (0, 0))
        files[place.path] = (added + len(place.new), removed + len(place.old))
    asked = sum(isinstance(item.body, UserMessage) for item in items)
    said = [counted(asked, "message")] if asked else []
    if files:
        numbers = lines_changed(*(sum(column) for column in zip(*files.values(), strict=True)))
        said.insert(0, f"{counted(len(files), 'file')} changed {numbers}")
    if rounds:
        cost = _cost(rounds)
        said.append("cost unknown" if cost == "unknown" else f"{cost} US dollars")
    if said:
        line = " \u00b7 ".join(said)
        yield f'<p class="outcome">{line}</p>'
    for path, counts in files.items():
        yield f"<div><code>{text(relative(path, folder))}</code> {lines_changed(*counts)}</div>"


def _changes(changes: Sequence[ExportedChange], folder: str) -> Iterator[str]:
    if not changes:
        return
    yield '<section class="changes"><h2>Changes in reading order</h2>'
    for change in changes:
        state = f'<span class="dim {css_class(change.state)}">{text(change.state)}</span>'
        marks = "".join(f' <span class="mark">{text(mark)}</span>' for mark in change.marks)
        yield f"<details open><summary>{text(change.title or 'A change')} {state}{marks}</summary>"
        for place in change.places:
            yield f'<div class="dim"><code>{text(relative(place.path, folder))}:{place.line}</code></div>{_hunk(place)}'
        yield "</details>"
    # The evidence of a turn is that of all its changes.
    for said in dict.fromkeys(change.evidence for change in changes if change.evidence):
        yield f'<p class="dim">{inline(said)}</p>'
    yield "</section>"


def _hunk(place: ChangedLines) -> str:
    old = (f'<span class="del">{text(f"-{line}")}</span>' for line in place.old)
    new = (f'<span class="add">{text(f"+{line}")}</span>' for line in place.new)
    return f'<pre class="diff">{"".join((*old, *new))}</pre>'


def _costs(rounds: Sequence[RoundFigures]) -> Iterator[str]:
    if not rounds:
        return
    turns: dict[str, list[RoundFigures]] = {}
    for each in rounds:
        turns.setdefault(each.turn_id, []).append(each)
    yield "<footer><h2>Tokens and costs</h2><table><thead><tr><th>Turn</th><th>Model calls</th>"
    yield "<th>Input tokens</th><th>Cached</th><th>Output tokens</th><th>US dollars</th></tr></thead><tbody>"
    for number, calls in enumerate(turns.values(), 1):
        yield _cost_row(str(number), calls)
    yield f"</tbody><tfoot>{_cost_row('Total', rounds)}</tfoot></table></footer>"


def _cost_row(name: str, calls: Sequence[RoundFigures]) -> str:
    cached = [each.usage.cache_read_tokens for each in calls if each.usage.cache_read_tokens is not None]
    cells = (
        f"{len(calls)}",
        f"{sum(each.usage.input_tokens for each in calls):,}",
        f"{sum(cached):,}" if cached else "unknown",
        f"{sum(each.usage.output_tokens for each in calls):,}",
        _cost(calls),
    )
    return f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _cost(calls: Sequence[RoundFigures]) -> str:
    costs = [each.cost_usd for each in calls if each.cost_usd is not None]
    if not costs:
        return "unknown"
    return f"{'at least ' if len(costs) < len(calls) else ''}{sum(costs):.4f}"
