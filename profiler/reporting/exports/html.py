"""A page with interactive charts in one file: opens in any browser, asks the network for nothing.

plotly's script is part of the file; a content security policy forbids every connection. What
came from outside (names, notes, text) is escaped, in the markup and inside the script's data.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from profiler.analysis.run import run_metrics
from profiler.reporting.exports.documents import FIGURES, SETTINGS, machine_words
from profiler.reporting.exports.libraries import PLOTLY
from profiler.reporting.exports.page_data import figures
from profiler.reporting.exports.request_table import request_table
from profiler.reporting.exports.writing import write_text
from profiler.timeline import Run, Timeline
from profiler.units import format_number

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'none'; base-uri 'none'; form-action 'none'"
)
STYLE = """
:root { color-scheme: light dark; --bg: #f3f5f7; --card: #fff; --text: #1a1f27; --muted: #5a6574;
  --line: #dde1e7; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171c; --card: #1a1e25; --text: #e9ecf1;
  --muted: #949ead; --line: #2a303a; } }
body { margin: 0; padding: 24px; background: var(--bg); color: var(--text);
  font: 14px/1.45 Inter, "Segoe UI", "Noto Sans", system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 28px 0 8px; }
h3 { font-size: 13px; margin: 0 0 4px; } p { margin: 4px 0; } .muted { color: var(--muted); }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 12px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px;
  min-width: 0; }
.chart { height: 320px; } .small .chart { height: 180px; }
.table { margin-top: 12px; } .rows { max-height: 420px; overflow: auto; }
.requests { white-space: nowrap; } .requests .text { text-align: left; white-space: normal;
  overflow-wrap: anywhere; min-width: 72px; }
.requests th { position: sticky; top: 0; background: var(--card); }
.requests th:nth-child(2), .requests th:nth-child(4) { text-align: left; }
table { border-collapse: collapse; } td, th { padding: 3px 14px 3px 0; text-align: right;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td:first-child, th:first-child { text-align: left; } dl { display: grid;
  grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 0; } dd { margin: 0;
  overflow-wrap: anywhere; } dt { color: var(--muted); }
"""
SCRIPT = """
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const WAYS = {
  dark: ["#56B4E9", "#F0A830", "#3CC7A0", "#DB93BB", "#FF8A55", "#E8DC56", "#A3ACB9"],
  light: ["#0072B2", "#B36F00", "#007F5F", "#A3487F", "#C44A00", "#7D7000", "#6B7584"],
};
function draw() {
  const style = getComputedStyle(document.body);
  const read = (name) => style.getPropertyValue(name).trim();
  const colours = WAYS[dark.matches ? "dark" : "light"];
  for (const [id, figure] of Object.entries(DATA)) {
    const data = structuredClone(figure.data);
    for (const trace of data) {
      if (trace.role === "text") trace.line.color = read("--text");
      if (trace.role === "green") trace.line.color = colours[2];
      delete trace.role;
    }
    const axis = { gridcolor: read("--line"), zerolinecolor: read("--line"), automargin: true };
    const layout = {
      ...figure.layout,
      xaxis: { ...axis, ...figure.layout.xaxis },
      yaxis: { ...axis, ...figure.layout.yaxis },
      colorway: colours,
      font: { family: style.fontFamily, size: 12, color: read("--text") },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: 16, t: 30, b: 44 },
      // Below the axis title, whatever the chart's height.
      legend: { orientation: "h", yref: "container", yanchor: "bottom", y: 0, x: 0, maxheight: 64 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: read("--muted"), activecolor: read("--text") },
      showlegend: data.length > 1,
      hovermode: "closest",
    };
    Plotly.react(id, data, layout, { displaylogo: false, responsive: true });
  }
}
dark.addEventListener("change", draw);
draw();
"""


def write_html(timeline: Timeline, path: Path, overwrite: bool = False, name: str = "") -> None:
    """Write the page (about 5 MB, most of it plotly). SessionError, SessionExists."""
    write_text(path, overwrite, _pieces(timeline, name))


def _pieces(timeline: Timeline, name: str) -> Iterator[str]:
    plotly = _plotly()
    title = _text(name or "Decodescope session")
    yield (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Else the browser asks for /favicon.ico.
        f'<link rel="icon" href="data:,"><title>{title}</title><style>{STYLE}</style></head><body>\n'
        f"<h1>{title}</h1>\n"
    )
    data: dict[str, Any] = {}
    for no in sorted(timeline.runs):
        yield from _run(timeline, timeline.runs[no], data)
    if not timeline.runs:
        yield "<p>No run was recorded.</p>\n"
    yield '<p class="muted">Made by Decodescope. This page is complete: it loads nothing.</p>\n'
    yield f'<script type="application/json" id="data">{script_json(data)}</script>\n<script>'
    yield plotly
    yield f"</script>\n<script>{SCRIPT}</script>\n</body></html>\n"


def _plotly() -> str:
    """plotly's own script. UsageError where it is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise PLOTLY.error() from None
    script: str = get_plotlyjs()
    return script


def _run(timeline: Timeline, run: Run, data: dict[str, Any]) -> Iterator[str]:
    values = run_metrics(timeline, run)
    counts = values["requests"]
    yield f"<h2>{_text(run.name or run.model or 'Run')}</h2>\n"
    yield (
        f'<p class="muted">{_text(run.model)} · {_text(run.status)} · {counts["ok"]} ok, '
        f"{counts['failed']} failed, {counts['warmup']} warm-ups</p>\n"
    )
    yield '<div class="grid">\n'
    yield f'<div class="card"><h3>Key figures</h3>{_figures(values["metrics"])}</div>\n'
    yield f'<div class="card"><h3>Setup and machine</h3>{_setup(run)}</div>\n'
    for figure in figures(timeline, run):
        key = f"chart{len(data)}"
        data[key] = {"data": figure["data"], "layout": figure["layout"]}
        note = f'<p class="muted">{_text(figure["note"])}</p>' if figure["note"] else ""
        small = " small" if figure["small"] else ""
        yield (
            f'<div class="card{small}"><h3>{_text(figure["title"])}</h3>'
            f'<div class="chart" id="{key}" role="img" aria-label="{_text(figure["title"])}"></div>{note}</div>\n'
        )
    yield "</div>\n"
    yield from request_table(run, values["per_request"])
    for note in values["notes"]:
        yield f"<p>{_text(note)}</p>\n"


def _figures(metrics: dict[str, Any]) -> str:
    lines = ["<table><tr><th></th><th>p50</th><th>p95</th><th>p99</th><th>max</th><th>n</th></tr>"]
    for label, key, unit, factor in FIGURES:
        found = metrics[key]
        cells = [
            "—" if found[part] is None else format_number(found[part] * factor, 4)
            for part in ("p50", "p95", "p99", "max")
        ]
        shown = "".join(f"<td>{cell}</td>" for cell in (*cells, found["n"]))
        lines.append(f"<tr><td>{label} ({unit})</td>{shown}</tr>")
    return "".join(lines) + "</table>"


def _setup(run: Run) -> str:
    pairs = [(key.replace("_", " "), run.config[key]) for key in SETTINGS if run.config.get(key) is not None]
    environment = run.environment if isinstance(run.environment, dict) else {}
    pairs += [("machine", found) for found in machine_words(environment)]
    return "<dl>" + "".join(f"<dt>{_text(key)}</dt><dd>{_text(value)}</dd>" for key, value in pairs) + "</dl>"


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)


def script_json(value: Any) -> str:
    """JSON that cannot end its script element, whatever strings are in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
