"""Setup, last part: what most runs leave alone."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox, QLineEdit

from app.panels.fields import Field, Group


class AdvancedGroup(Group):
    """Name of the run, seed, what the file keeps. Folded at first."""

    def __init__(self) -> None:
        super().__init__(self.tr("Advanced"), folded=True)
        self.name = QLineEdit()
        self.name.setPlaceholderText(self.tr("as the model"))
        # A line, not a box of numbers: a seed may have 63 bits.
        self.seed = QLineEdit("0")
        self.keep_text = QCheckBox(self.tr("Keep prompt and answer text in the file"))
        self.keep_text.setChecked(True)
        self.fields = {
            "name": Field(self.tr("Name of the run"), self.name, "name"),
            "seed": Field(self.tr("Seed (prompt, sampling)"), self.seed, "seed"),
        }
        self.add(self.fields["name"], 0, 0)
        self.add(self.fields["seed"], 0, 1)
        self.add(self.keep_text, 1, 0, 2)
        self.name.textEdited.connect(lambda _text: self.edited.emit())
        self.seed.textEdited.connect(lambda _text: self.edited.emit())
        self.keep_text.toggled.connect(lambda _on: self.edited.emit())
        self.edited.connect(self._show)

    def values(self) -> dict[str, Any]:
        """This part's settings of a RunConfig; a seed that is no number stays text, and is refused."""
        seed = self.seed.text().strip()
        return {
            "name": self.name.text(),
            "seed": int(seed) if seed.isascii() and seed.isdigit() else seed,
            "keep_text": self.keep_text.isChecked(),
        }

    def set_values(self, values: dict[str, Any]) -> None:
        """Show the settings of a RunConfig."""
        self.name.setText(values["name"])
        self.seed.setText(str(values["seed"]))
        self.keep_text.setChecked(values["keep_text"])
        self._show()

    def _show(self) -> None:
        """Say in the head what is not as usual: a folded group hides nothing that matters."""
        told = [self.name.text().strip()[:16]]
        told += [] if self.seed.text().strip() == "0" else [self.tr("seed {0}").format(self.seed.text()[:8])]
        told += [] if self.keep_text.isChecked() else [self.tr("no text kept")]
        self.set_summary(", ".join(part for part in told if part))
