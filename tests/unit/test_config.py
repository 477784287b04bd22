from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from profiler.config import FIELDS, RunConfig, make_config, read_config
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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"output_tokens": 1.5}, "output tokens: 1.5 is not valid (give a whole number)."),
        ({"output_tokens": True}, "output tokens: True is not valid (give a whole number)."),
        ({"seed": "x"}, "seed: 'x' is not valid (give a whole number)."),
        ({"threads": 0}, "threads: 0 cannot work; give a number of at least 1."),
        ({"temperature": "warm"}, "temperature: 'warm' is not valid (give a number)."),
        ({"temperature": float("nan")}, "temperature: nan is not valid (give a finite number)."),
        ({"keep_text": "perhaps"}, "keep text: 'perhaps' is not valid (give true or false)."),
        ({"keep_text": None}, "keep text: None is not valid (give true or false)."),
        ({"device": 3}, "device: 3 is not valid (give a text)."),
        ({"prompt": ["a"]}, "prompt: that is not valid (give a text)."),
        ({"cache": "quantised"}, "cache: 'quantised' is not known; choose 'dynamic' or 'static'."),
        ({"sample_hz": 0.05}, "sample hz: give 0 for no sampling, or at least 0.1."),
        ({"model": None}, "No model is named; see `dscope models` for what there is."),
    ],
)
def test_what_cannot_work_is_one_sentence(values: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as error:
        make_config(values)
    assert str(error.value) == words
    assert error.value.exit_code == (3 if "model" in values else 2)


def test_numbers_and_flags_may_be_written_otherwise() -> None:
    config = make_config(
        {"repeats": "7", "warmup": 2.0, "temperature": 1, "keep_text": "no", "ignore_eos": 0}
    )
    assert (config.repeats, config.warmup, config.temperature) == (7, 2, 1.0)
    assert config.keep_text is False and config.ignore_eos is False
    assert isinstance(config.warmup, int) and isinstance(config.temperature, float)


def test_a_configuration_cannot_be_changed_and_is_equal_to_its_like() -> None:
    config = make_config({"repeats": 7})
    with pytest.raises(AttributeError):
        config.repeats = 8  # type: ignore[misc]
    assert config == RunConfig(repeats=7) and hash(config) == hash(RunConfig(repeats=7))
    assert replace(config, output_tokens=5).repeats == 7
    with pytest.raises(UsageError, match="at least 1"):
        replace(config, output_tokens=0)
    assert "prompt" not in config.to_dict(exclude_none=True)
    assert tuple(config.to_dict()) == FIELDS


def test_a_configuration_goes_through_json() -> None:
    config = make_config({"model": "preset:nano", "repeats": 7})
    assert make_config(config.to_dict()) == config


@pytest.mark.parametrize("text", ["", "[1]", "{", '"x"'])
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_config(path)
    assert "c.json" in str(error.value)
