"""The style sheet of an exported page. Its hash is in the page's Content Security Policy."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --bg: #fff; --dim: #59636e; --line: #d1d9e0; --block: #f6f8fa;
  --add: #dafbe1; --del: #ffebe9; --hunk: #ddf4ff; --user: #eef4ff; --bad: #c0262d; --good: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6edf3; --bg: #0d1117; --dim: #9198a1; --line: #3d444d; --block: #151b23; --add: #12361f;
    --del: #4b1518; --hunk: #11304d; --user: #16233a; --bad: #ff7b72; --good: #56d364; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1rem 4rem; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .9rem; margin: 1rem 0 .25rem; font-weight: 600; }
time, .dim, figcaption { color: var(--dim); font-weight: normal; font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: .25rem 0; padding: .6rem .8rem; overflow-x: auto; background: var(--block); border-radius: 6px;
  font: 13px/1.45 ui-monospace, monospace; tab-size: 4; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.user .text { padding: .6rem .8rem; background: var(--user); border-radius: 6px; }
.reasoning .text { color: var(--dim); font-style: italic; }
.agent { border-left: 3px solid var(--line); padding-left: .8rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
code { font: 13px ui-monospace, monospace; }
.diff span { display: block; min-height: 1.45em; }
.add { background: var(--add); }
.del { background: var(--del); }
.hunk { background: var(--hunk); color: var(--dim); }
.mark { border: 1px solid var(--line); border-radius: 6px; padding: 0 .4rem; font-size: .8rem; color: var(--dim); }
.failed, .error, .undone { color: var(--bad); }
.done, .allow, .kept { color: var(--good); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: right; padding: .15rem .7rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
@media print { details { break-inside: avoid; } }
"""
