"""Token ids to text as they come, in constant time a token.

Runs on the outbox's thread, after the stamp, never in the decoder's path. Ids that the
tokenizer does not know (a random-weight model has more of them than a byte-level tokenizer)
show as ``‹id›``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Detokeniser:
    """Call it with the ids of each step, in order; it returns the text that became complete.

    `tokenizer`: a fast tokenizer of transformers (`backend_tokenizer`), or any with `decode`
    (then the last few tokens are decoded again for each step).
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self._stream = self._new_stream()
        self._size = len(tokenizer)
        self._tail: list[int] = []

    def _new_stream(self) -> Any:
        if self._backend is None:
            return None
        from tokenizers.decoders import DecodeStream

        return DecodeStream(skip_special_tokens=False)

    def __call__(self, ids: Sequence[int]) -> str:
        """The text that became complete with these ids ("" while a character is unfinished)."""
        out = []
        for token in ids:
            if not 0 <= token < self._size:
                out.append(self.rest())
                out.append(f"‹{token}›")
            elif self._stream is not None:
                out.append(self._step(token))
            else:
                out.append(self._decode_tail(token))
        return "".join(out)

    def _step(self, token: int) -> str:
        self._tail.append(token)
        try:
            text = self._stream.step(self._backend, token)
        except Exception:  # noqa: BLE001 - tokenizers raises plain Exception on odd byte sequences
            # Invalid UTF-8: show what can be shown and begin anew after it.
            text = self._tokenizer.decode(self._tail)
            self._stream = self._new_stream()
        if text:
            self._tail.clear()
        elif len(self._tail) > 8:
            # No character is this long: the bytes are not UTF-8.
            text = self.rest()
        return text or ""

    def _decode_tail(self, token: int) -> str:
        self._tail.append(token)
        text = self._tokenizer.decode(self._tail)
        if text.endswith("\ufffd") and len(self._tail) <= 8:
            return ""
        self._tail.clear()
        return str(text)

    def rest(self) -> str:
        """What was held back, with a replacement character for unfinished ones."""
        if not self._tail:
            return ""
        text = self._tokenizer.decode(self._tail)
        self._tail.clear()
        self._stream = self._new_stream()
        return str(text)
