"""Reading numbers out of a config.json that anybody may have written.

Every error is a `ModelError` of one sentence that names the key.
"""

from __future__ import annotations

from typing import Any

from profiler.errors import ModelError

_DTYPES = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
}

_OUTER = ("tie_word_embeddings", "dtype", "torch_dtype", "quantization_config", "model_type")
"""Keys that a nested config takes from the outside when it lacks them."""

MAX_LAYERS = 10_000
MAX_COUNT = 2**31


class ConfigReader:
    """Checked access to one flat config. Keys may have aliases (`num_hidden_layers`, `n_layer`)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    def __contains__(self, key: str) -> bool:
        return self._config.get(key) is not None

    def has_key(self, key: str) -> bool:
        """Is the key there, be it null?"""
        return key in self._config

    def with_defaults(self, defaults: dict[str, Any]) -> ConfigReader:
        """A reader that knows `defaults` for the keys that are missing."""
        return ConfigReader({**defaults, **self._config})

    def raw(self, key: str) -> Any:
        """The value as it stands, or None."""
        return self._config.get(key)

    def count(
        self,
        *keys: str,
        default: int | None = None,
        least: int = 1,
        most: int = MAX_COUNT,
    ) -> int:
        """A whole number under the first of `keys` that is there, else `default`, else an error."""
        for key in keys:
            value = self._config.get(key)
            if value is not None:
                return self._checked(key, value, least, most)
        if default is None:
            raise ModelError(
                f'The model\'s config.json has no "{keys[0]}", so its size is unknown; '
                f"use the config.json that came with the model."
            )
        return default

    def optional(self, *keys: str, least: int = 1) -> int | None:
        """As `count`, with None where the key is missing or null."""
        for key in keys:
            value = self._config.get(key)
            if value is not None:
                return self._checked(key, value, least, MAX_COUNT)
        return None

    def flag(self, *keys: str, default: bool) -> bool:
        """A truth value; anything but true, false and null is an error."""
        for key in keys:
            value = self._config.get(key)
            if value is not None:
                if not isinstance(value, bool):
                    raise ModelError(
                        f'The model\'s config.json has "{key}": {_short(value)}, which should be true or '
                        f"false; use the config.json that came with the model."
                    )
                return value
        return default

    def text(self, key: str, default: str = "") -> str:
        """A string, or `default` where the value is missing or of another type."""
        value = self._config.get(key)
        return value if isinstance(value, str) else default

    def layer_kinds(self, n_layers: int) -> list[str] | None:
        """`layer_types` (or `layers_block_type`), one string a layer; None when absent."""
        for key in ("layer_types", "layers_block_type"):
            value = self._config.get(key)
            if value is None:
                continue
            if (
                not isinstance(value, list)
                or len(value) < n_layers
                or not all(isinstance(kind, str) for kind in value)
            ):
                raise ModelError(
                    f'The model\'s config.json has a "{key}" that does not name its {n_layers} layers; '
                    f"use the config.json that came with the model."
                )
            return list(value[:n_layers])
        return None

    def indices(self, key: str) -> frozenset[int]:
        """A list of layer numbers; empty when absent."""
        value = self._config.get(key)
        if not isinstance(value, list):
            return frozenset()
        return frozenset(item for item in value if isinstance(item, int))

    def dtype(self) -> str | None:
        """The stored dtype as fp32, bf16 or fp16; None when absent or another."""
        value = self._config.get("dtype", self._config.get("torch_dtype"))
        return _DTYPES.get(value.removeprefix("torch.")) if isinstance(value, str) else None

    @staticmethod
    def _checked(key: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            bound = f"of at least {least}" if not isinstance(value, int) or value < least else f"up to {most}"
            raise ModelError(
                f'The model\'s config.json has "{key}": {_short(value)}, which should be a whole number '
                f"{bound}; use the config.json that came with the model."
            )
        return value


def flatten(config: dict[str, Any]) -> dict[str, Any]:
    """The text model's config: `text_config` where there is one, with what only the outside says."""
    if not isinstance(config, dict):
        raise ModelError(
            "The model's config.json is not a JSON object; use the one that came with the model."
        )
    for key in ("text_config", "llm_config", "language_config"):
        inner = config.get(key)
        if isinstance(inner, dict):
            outer = {
                name: config[name]
                for name in (
                    "tie_word_embeddings",
                    "dtype",
                    "torch_dtype",
                    "quantization_config",
                    "model_type",
                )
                if config.get(name) is not None
            }
            if any(inner.get(name) is not None for name in ("dtype", "torch_dtype")):
                outer.pop("dtype", None)
                outer.pop("torch_dtype", None)
            return {**outer, **{name: value for name, value in inner.items() if value is not None}}
    return config


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
