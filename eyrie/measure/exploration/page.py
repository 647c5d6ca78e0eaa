# SPDX-License-Identifier: Apache-2.0
"""The page of an exploration, in one file: a table, plots of the costs, and the difference of two points by layer.

Table and plots share one selection: points that are selected in one are selected in all.
"""

from html import escape
from typing import Any

from eyrie.compiler.frontend.extra import require
from eyrie.measure import Entry
from eyrie.measure.exploration.explored import Explored

PAIRS = (("cycles", "dram_bytes"), ("cycles", "energy_uJ"), ("gate_equivalents", "cycles"))
TITLES = {
    "point": "point",
    "cycles": "cycles",
    "measured_cycles": "measured",
    "roofline_cycles": "roofline",
    "dram_bytes": "DRAM bytes",
    "energy_uJ": "energy in uJ",
    "gate_equivalents": "gate equivalents",
    "memory_bits": "memory bits",
    "pareto": "Pareto",
}
Drawn = Any  # an object of bokeh, which is optional
COLOURS = ("#9aa5b1", "#c2410c")  # other points, points of the Pareto front
PLOT, TABLE_WIDTH, TABLE_HEIGHT, CHARACTER = 420, 1260, 320, 7  # pixels

# Shows the rows of the selected model that match the text of the filter. `x > 5 and y == 3` is a filter.
_FILTER = """
const test = text.value.trim()
let keep = () => true
error.text = ''
if (test) {
  try {
    const names = Object.keys(source.data)
    const body = test.replace(/\\band\\b/g, '&&').replace(/\\bor\\b/g, '||').replace(/([^=!<>])=([^=])/g, '$1==$2')
    const call = new Function(...names, 'return ' + body)
    keep = i => call(...names.map(name => source.data[name][i]))
    if (source.get_length() > 0) keep(0)
  } catch (fault) { error.text = String(fault); keep = () => true }
}
const shown = []
for (let i = 0; i < source.get_length(); i++) if (source.data.model[i] == model.value && keep(i)) shown.push(i)
view.filter.indices = shown
count.text = `${shown.length} points`
"""

# Compares the first two selected points layer by layer.
_DIFFERENCE = """
const [one, other] = source.selected.indices
if (other === undefined) { out.text = 'Select two points to compare them layer by layer.'; return }
const name = i => `point ${source.data.point[i]}`
const both = key => [source.data[key][one], source.data[key][other]]
const rows = [['all', both('cycles'), both('dram_bytes')]]
const [first, second] = [layers[one], layers[other]]
const names = [...new Set([...Object.keys(first), ...Object.keys(second)])]
const cost = (layer, n) => [first, second].map(of => of[layer] ? of[layer][n] : 0)
for (const layer of names) rows.push([layer, cost(layer, 0), cost(layer, 1)])
const cells = ([a, b]) => `<td>${a.toLocaleString()}<td>${b.toLocaleString()}<td>${(b - a).toLocaleString()}`
out.text = `<table class="difference"><tr><th>layer<th>cycles, ${name(one)}<th>${name(other)}<th>difference` +
  `<th>DRAM bytes, ${name(one)}<th>${name(other)}<th>difference` +
  rows.map(([layer, cycles, bytes]) => `<tr><td>${layer}${cells(cycles)}${cells(bytes)}`).join('') + '</table>'
"""

# Writes a number like 1.25M.
_SHORT = "return tick.toLocaleString('en', {notation: 'compact', maximumSignificantDigits: 4})"

_STYLE = """
.difference { border-collapse: collapse; font: 13px system-ui, sans-serif; }
.difference td, .difference th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #e5e7eb; }
.difference td:first-child, .difference th:first-child { text-align: left; }
"""


def page(explored: Explored) -> str:
    """Return the page as HTML that loads no other file. The extra `explore` has its package."""
    models, layouts = (require(f"bokeh.{name}", "explore") for name in ("models", "layouts"))
    rows = [row for row in explored.rows if row["status"] == "ok"]
    source = models.ColumnDataSource(_columns(explored, rows))
    names = list(dict.fromkeys(row["model"] for row in rows))
    first = names[-1] if names else ""  # all models, if there are several
    shown = [number for number, row in enumerate(rows) if row["model"] == first]
    view = models.CDSView(filter=models.IndexFilter(shown))
    model = models.Select(title="model", value=first, options=names)
    text = models.TextInput(title="filter, as in: rows == 6 and gate_equivalents < 1.5e6", width=420)
    error, count = models.Div(text="", styles={"color": "#b91c1c"}), models.Div(text=f"{len(shown)} points")
    select = models.CustomJS(
        args={"source": source, "view": view, "model": model, "text": text, "error": error, "count": count},
        code=_FILTER,
    )
    model.js_on_change("value", select)
    text.js_on_change("value", select)
    out = models.Div(text="Select two points to compare them layer by layer.", stylesheets=[_STYLE])
    layers = [{escape(each["name"]): [each["cycles"], each["dram_bytes"]] for each in row["layers"]} for row in rows]
    source.selected.js_on_change(
        "indices", models.CustomJS(args={"source": source, "layers": layers, "out": out}, code=_DIFFERENCE)
    )
    whole = layouts.column(
        models.Div(text="<h1>Exploration</h1>One row is one point. Click to select, with Ctrl to select more."),
        layouts.row(model, text, count, error),
        layouts.row(*(_plot(source, view, *pair) for pair in PAIRS)),
        _table(explored, source, view),
        out,
    )
    return require("bokeh.embed", "explore").file_html(whole, require("bokeh.resources", "explore").INLINE, "Eyrie")


def _columns(explored: Explored, rows: list[Entry]) -> dict[str, list]:
    names = ("model", *TITLES, *explored.space.axes)
    columns = {name: [row.get(name) for row in rows] for name in names}
    columns["pareto"] = ["yes" if value else "" for value in columns["pareto"]]
    return columns


def _plot(source: Drawn, view: Drawn, x: str, y: str) -> Drawn:
    """Return a plot of two costs."""
    models, plotting = require("bokeh.models", "explore"), require("bokeh.plotting", "explore")
    tips = [("point", "@point"), *((title, f"@{name}{{0,0}}") for name, title in TITLES.items() if name in (x, y))]
    figure = plotting.figure(
        width=PLOT,
        height=PLOT,
        x_axis_label=TITLES[x],
        y_axis_label=TITLES[y],
        tools="pan,wheel_zoom,box_select,tap,reset,save",
        tooltips=tips,
    )
    for pareto, colour in enumerate(COLOURS):  # the front above the other points
        kind = models.GroupFilter(column_name="pareto", group="yes" if pareto else "")
        chosen = models.CDSView(filter=models.IntersectionFilter(operands=[view.filter, kind]))
        figure.scatter(x, y, source=source, view=chosen, color=colour, size=7, alpha=0.8)
    for axis in (figure.xaxis, figure.yaxis):
        axis.formatter = models.CustomJSTickFormatter(code=_SHORT)
    return figure


def _table(explored: Explored, source: Drawn, view: Drawn) -> Drawn:
    models = require("bokeh.models", "explore")
    number = models.NumberFormatter(format="0,0.[00]", text_align="right", nan_format="", null_format="")
    columns = []
    for name in ("point", *explored.space.axes, *(name for name in TITLES if name != "point")):
        title, values = TITLES.get(name, name), source.data[name]
        text = any(isinstance(value, str) for value in values)
        longest = max([len(title), *(len(str(value) if text else f"{value or 0:,}") for value in values)])
        columns.append(
            models.TableColumn(
                field=name, title=title, width=longest * CHARACTER + 12, **({} if text else {"formatter": number})
            )
        )
    return models.DataTable(
        source=source,
        view=view,
        columns=columns,
        width=TABLE_WIDTH,
        height=TABLE_HEIGHT,
        autosize_mode="none",
        index_position=None,
        selectable="checkbox",
    )
