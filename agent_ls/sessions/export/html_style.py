"""The style sheet of an exported page. Its hash is in the page's Content Security Policy."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --bg: #fff; --dim: #59636e; --line: #d1d9e0; --block: #f6f8fa;
  --add: #dafbe1; --del: #ffebe9; --user: #eef4ff; --bad: #c0262d; --good: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6edf3; --bg: #0d1117; --dim: #9198a1; --line: #3d444d; --block: #151b23; --add: #12361f;
    --del: #4b1518; --user: #16233a; --bad: #ff7b72; --good: #56d364; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 1rem 1rem 4rem; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, sans-serif; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; overflow: hidden; overflow-wrap: anywhere;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
h1:hover { -webkit-line-clamp: none; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .9rem; margin: 1rem 0 .25rem; font-weight: 600; }
time, .dim { color: var(--dim); font-weight: normal; font-size: .85rem; }
h2 time { float: right; }
dl { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0; font-size: .85rem; }
dl div { display: flex; gap: .35rem; min-width: 0; }
dt { color: var(--dim); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.outcome { font-size: 1.05rem; font-weight: 600; margin: 1rem 0 .25rem; }
pre { margin: .25rem 0; padding: .6rem .8rem; overflow-x: auto; background: var(--block); border-radius: 6px;
  font: 13px/1.45 ui-monospace, monospace; tab-size: 4; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.said { margin: .75rem 0; }
.user .text { padding: .6rem .8rem; background: var(--user); border-radius: 6px; }
.reasoning .text { color: var(--dim); font-style: italic; }
.agent { border-left: 3px solid var(--line); padding-left: .8rem; }
details { margin: .25rem 0; }
.steps, .changes details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.steps > summary { color: var(--dim); font-size: .9rem; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.text code, td code { background: var(--block); border-radius: 4px; padding: 0 .25em; }
.diff { padding: .3rem 0; }
.diff span { display: block; min-height: 1.45em; min-width: max-content; padding: 0 .8rem; }
.add { background: var(--add); }
.del { background: var(--del); }
.hunk { color: var(--dim); }
.mark { border: 1px solid var(--line); border-radius: 6px; padding: 0 .4rem; font-size: .8rem; color: var(--dim); }
.notice { border-left: 3px solid var(--line); padding-left: .8rem; }
.failed, .error, .undone, .minus { color: var(--bad); }
.notice.error { border-color: var(--bad); }
.kept, .plus { color: var(--good); }
.plus, .minus { font-variant-numeric: tabular-nums; }
footer { margin-top: 2rem; overflow-x: auto; }
table { margin: .5rem 0; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: left; padding: .15rem .7rem; border-bottom: 1px solid var(--line); }
footer th, footer td { text-align: right; }
footer th:first-child, footer td:first-child { text-align: left; }
@media (max-width: 30rem) { footer th, footer td { padding: .15rem .25rem; } }
@media print { details { break-inside: avoid; } h1 { -webkit-line-clamp: none; } }
"""
