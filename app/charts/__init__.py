"""Charts of the window. They are given data, they never fetch it.

A request, a run or a sample is turned into the small dataclasses below by the page.
"""

from app.charts.bandwidth import BandwidthChart
from app.charts.bandwidth_marks import BandwidthSeries, BusyWindow
from app.charts.base import ChartCard
from app.charts.first_token import FirstTokenChart
from app.charts.first_token_bars import FirstTokenBar
from app.charts.telemetry import TelemetryChart, TelemetryRow, Zone
from app.charts.token_latency import TokenLatencyChart
from app.charts.token_layers import TokenSeries
from app.charts.token_marks import TrendLine

__all__ = [
    "BandwidthChart",
    "BandwidthSeries",
    "BusyWindow",
    "ChartCard",
    "FirstTokenBar",
    "FirstTokenChart",
    "TelemetryChart",
    "TelemetryRow",
    "TokenLatencyChart",
    "TokenSeries",
    "TrendLine",
    "Zone",
]
