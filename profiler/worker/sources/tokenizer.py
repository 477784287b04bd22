"""A tokenizer for models that have none, and prompts of an exact number of tokens.

The byte-level tokenizer has one token a byte (id = the byte) and three specials after them, as
the presets' configs name them. The rest of the model's vocabulary gets made-up words, so that
what a model with random weights says can be seen.
"""

from __future__ import annotations

from typing import Any

from profiler.errors import ModelError
from profiler.paths import resource_dir

N_BYTES = 256
BOS, EOS, PAD = "<|bos|>", "<|eos|>", "<|pad|>"
BOS_ID, EOS_ID, PAD_ID = 256, 257, 258
LEAST_VOCAB = 8
_PROSE = "prose.txt"
_STRIDE = 7919
"""How far apart the prompts of neighbouring seeds begin, in tokens (prime)."""


def byte_symbols() -> list[str]:
    """GPT-2's printable character for each byte, by byte (what `ByteLevel` works with)."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    symbols: list[str] = []
    shifted = 0
    for byte in range(N_BYTES):
        if byte in printable:
            symbols.append(chr(byte))
        else:
            symbols.append(chr(N_BYTES + shifted))
            shifted += 1
    return symbols


def _word(number: int) -> str:
    """A pronounceable made-up word for each number, all different; begins with a space."""
    consonants, vowels = "bdfghjklmnprstvwyzcx", "aeiou"
    syllables = [_syllable(number % 100, consonants, vowels)]
    number //= 100
    while number:
        number -= 1
        syllables.append(_syllable(number % 100, consonants, vowels))
        number //= 100
    return "\u0120" + "".join(reversed(syllables))


def _syllable(number: int, consonants: str, vowels: str) -> str:
    return consonants[number // 5] + vowels[number % 5]


def byte_tokenizer(vocab_size: int, max_context: int | None = None) -> Any:
    """A PreTrainedTokenizerFast of exactly `vocab_size` tokens, the model's own size.

    Below 259 the rarer bytes have no token (they become a space). ModelError below 8.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    if vocab_size < LEAST_VOCAB:
        raise ModelError(f"A vocabulary of {vocab_size} tokens is too small to work with; use another model.")
    vocab, unknown = _vocabulary(vocab_size)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    extra = {} if max_context is None else {"model_max_length": max_context}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, pad_token=PAD, **extra
    )


def _vocabulary(vocab_size: int) -> tuple[dict[str, int], str | None]:
    """Token -> id, and the token for what has none (None: every byte has one)."""
    symbols = byte_symbols()
    if vocab_size >= N_BYTES + 3:
        vocab = {symbol: byte for byte, symbol in enumerate(symbols)}
        vocab.update({BOS: BOS_ID, EOS: EOS_ID, PAD: PAD_ID})
        vocab.update({_word(index): N_BYTES + 3 + index for index in range(vocab_size - N_BYTES - 3)})
        return vocab, None
    common = b" etaoinshrdlcumwfgypbvkxjqz.,'\n"
    order = [*common, *(byte for byte in range(N_BYTES) if byte not in common)]
    vocab = {symbols[byte]: index for index, byte in enumerate(order[: vocab_size - 3])}
    for special in (BOS, EOS, PAD):
        vocab[special] = len(vocab)
    return vocab, symbols[ord(" ")]


def prose() -> str:
    """The text that synthetic prompts are cut from."""
    return (resource_dir() / "prompts" / _PROSE).read_text(encoding="utf-8")


def synthetic_prompt_ids(
    tokenizer_or_vocab_size: Any, n: int, seed: int = 0, vocab_size: int | None = None
) -> list[int]:
    """Exactly `n` token ids of plausible text, never a special one.

    `tokenizer_or_vocab_size`: a tokenizer, or the vocabulary's size for one token a byte. The
    text begins at a place that `seed` chooses and is repeated as often as needed. Ids at or
    above `vocab_size` (a tokenizer larger than its model) are left out.
    """
    if isinstance(tokenizer_or_vocab_size, int):
        vocab, _ = _vocabulary(max(tokenizer_or_vocab_size, LEAST_VOCAB))
        ids = [vocab[symbol] for symbol in _symbols_of(prose()) if symbol in vocab]
    else:
        tokenizer = tokenizer_or_vocab_size
        special = set(getattr(tokenizer, "all_special_ids", ()))
        ids = [i for i in tokenizer.encode(prose(), add_special_tokens=False) if i not in special]
    if vocab_size is not None:
        ids = [i for i in ids if i < vocab_size]
    if not ids:
        raise ModelError(
            "The model's tokenizer makes no tokens of plain English text; use another tokenizer."
        )
    start = seed * _STRIDE % len(ids)
    turned = ids[start:] + ids[:start]
    return (turned * (n // len(turned) + 1))[:n]


def _symbols_of(text: str) -> list[str]:
    symbols = byte_symbols()
    return [symbols[byte] for byte in text.encode("utf-8")]
