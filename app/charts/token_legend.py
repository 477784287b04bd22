"""The legend of the latency chart: each entry is a layer that can be hidden."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.widgets import LegendItem


def legend_items(*, band: bool, trend: bool, limit: bool, spikes: int) -> list[LegendItem]:
    """The entries for what there is; the commonest first, since the last ones may have no room."""

    def tr(text: str) -> str:
        return QCoreApplication.translate("TokenLatencyChart", text)

    items = [
        LegendItem(tr("token"), "data1", "dots", key="token"),
        LegendItem(tr("rolling median"), "text", short=tr("median"), key="median"),
    ]
    if band:
        tip = tr("5 % to 95 % of all measured repeats, around each token.")
        items.append(LegendItem(tr("p5–p95"), "data1", "band", tip=tip, key="band"))
    if trend:
        items.append(LegendItem(tr("trend"), "data2", "dashed", tip=tr("Theil–Sen line"), key="trend"))
    if limit:
        tip = tr("The time that reading the weights and the KV cache once must take here.")
        items.append(LegendItem(tr("limit"), "data3", "dashdot", tip=tip, key="limit"))
    if spikes:
        tip = tr("{0} gaps more than 10 % and 3.5 robust deviations above the trend.").format(f"{spikes:,}")
        items.append(LegendItem(tr("spikes"), "secondary", "ring", tip=tip, key="spikes"))
    return items
