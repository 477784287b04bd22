from __future__ import annotations

from pathlib import Path

import pytest

from profiler.config import make_config, read_config
from profiler.errors import UsageError


def test_the_prompt_is_one_of_three() -> None:
    assert make_config({}).prompt_tokens == 128
    assert make_config({"prompt": "hi"}).prompt_tokens is None
    with pytest.raises(UsageError, match="one of"):
        make_config({"prompt": "hi", "prompt_tokens": 5})
    with pytest.raises(UsageError, match="empty"):
        make_config({"prompt": "  "})


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"output_tokens": 0}, "output_tokens", "at least 1"),
        ({"output_tokens": 1.5}, "output_tokens", "output tokens"),
        ({"repeats": -3}, "repeats", "at least 1"),
        ({"sample_hz": 11}, "sample_hz", "at most 10"),
        ({"dtype": "int3"}, "dtype", "int3"),
        ({"temprature": 1}, "temprature", "no such setting"),
        ({"temperature": float("inf")}, "temperature", "temperature"),
        ({"model": ""}, "model", "model"),
    ],
)
def test_bad_values_name_their_field(values: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        make_config(values)
    assert error.value.field == field
    assert words in str(error.value) and str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_a_configuration_goes_through_json() -> None:
    config = make_config({"model": "preset:nano", "repeats": 7})
    assert make_config(config.model_dump(mode="json")) == config


@pytest.mark.parametrize("text", ["", "[1]", "{", '"x"'])
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_config(path)
    assert "c.json" in str(error.value)
