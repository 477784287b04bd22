"""Setup, third part: precision, attention, cache, decoding."""

from __future__ import annotations

from typing import Any

from app.panels.fields import Choice, Field, Group, decimal

GREEDY, SAMPLING = "greedy", "sampling"


class GenerationGroup(Group):
    """How the model computes and how the next token is chosen."""

    def __init__(self) -> None:
        super().__init__(self.tr("Generation"))
        self.dtype = Choice(
            [
                ("auto", self.tr("As stored")),
                ("fp32", "fp32"),
                ("bf16", "bf16"),
                ("fp16", "fp16"),
            ]
        )
        self.attn = Choice(
            [
                ("auto", self.tr("Automatic")),
                ("sdpa", "SDPA"),
                ("eager", self.tr("Eager")),
                ("flash_attention_2", "FlashAttention 2"),
            ]
        )
        self.cache = Choice([("dynamic", self.tr("Dynamic")), ("static", self.tr("Static"))])
        self.decoding = Choice([(GREEDY, self.tr("Greedy")), (SAMPLING, self.tr("Sampling"))])
        self.temperature = decimal(0.01, 100.0, 0.7, 0.1)
        self.fields = {
            "dtype": Field(self.tr("Precision"), self.dtype, "dtype"),
            "attn": Field(self.tr("Attention"), self.attn, "attn"),
            "cache": Field(self.tr("Cache"), self.cache, "cache"),
            "decoding": Field(self.tr("Decoding"), self.decoding, "decoding"),
            "temperature": Field(self.tr("Temperature"), self.temperature, "temperature"),
        }
        for index, field in enumerate(self.fields.values()):
            self.add(field, index // 2, index % 2)
        for choice in (self.dtype, self.attn, self.cache, self.decoding):
            choice.currentIndexChanged.connect(self._on_edit)
        self.temperature.valueChanged.connect(self._on_edit)
        self._show_sampling()

    def _on_edit(self) -> None:
        self._show_sampling()
        self.edited.emit()

    def _show_sampling(self) -> None:
        sampling = self.decoding.value() == SAMPLING
        self.fields["temperature"].setVisible(sampling)

    def values(self) -> dict[str, Any]:
        """This part's settings of a RunConfig."""
        sampling = self.decoding.value() == SAMPLING
        return {
            "dtype": self.dtype.value(),
            "attn": self.attn.value(),
            "cache": self.cache.value(),
            "temperature": self.temperature.value() if sampling else 0.0,
        }

    def set_values(self, values: dict[str, Any]) -> None:
        """Show the settings of a RunConfig."""
        self.dtype.set_value(values["dtype"])
        self.attn.set_value(values["attn"])
        self.cache.set_value(values["cache"])
        self.decoding.set_value(SAMPLING if values["temperature"] > 0 else GREEDY)
        if values["temperature"] > 0:
            self.temperature.setValue(values["temperature"])
        self._show_sampling()
