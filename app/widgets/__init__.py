"""Small styled widgets without knowledge of models or measurements.

Widgets that paint themselves have `set_theme(palette)`; `app.theme.apply_theme(root, palette)`
tells a whole window. Text is plain text everywhere: what a model or a file says is never
taken for markup.
"""

from app.widgets.buttons import Button, IconButton, SegmentedControl
from app.widgets.cards import Banner, Card, Divider
from app.widgets.fields import DoubleSpinBox, SpinBox
from app.widgets.kpi import KpiTile, Sparkline
from app.widgets.labels import ElidedLabel, make_label, restyle, set_role
from app.widgets.legend import Legend, LegendItem
from app.widgets.marks import StatusMark, paint_mark
from app.widgets.progress import ProgressSegments

__all__ = [
    "Banner",
    "Button",
    "Card",
    "Divider",
    "DoubleSpinBox",
    "ElidedLabel",
    "IconButton",
    "KpiTile",
    "Legend",
    "LegendItem",
    "ProgressSegments",
    "SegmentedControl",
    "Sparkline",
    "SpinBox",
    "StatusMark",
    "make_label",
    "paint_mark",
    "restyle",
    "set_role",
]
