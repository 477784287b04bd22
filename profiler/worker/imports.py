"""Everything that a local model's load and first answer import, in one place.

transformers imports most of itself, torch's compiler and its neighbours (accelerate, scipy) at the
first use: hidden in a load, or in the time to the first token of a model that is not to blame.
"""

from __future__ import annotations

from collections.abc import Callable

from profiler.worker.backends.base import Stopped


def import_libraries(cancelled: Callable[[], bool]) -> None:
    """Import torch and transformers, and all of them that a `generate` needs: seconds.

    Call after `prepare_environment`. `cancelled` is asked between the parts: Stopped. No model
    family is imported, no device is touched and no thread of torch's is started.
    """
    for part in (_torch, _transformers, _generation, _models):
        if cancelled():
            raise Stopped
        part()


def _torch() -> None:
    import torch  # noqa: F401


def _transformers() -> None:
    import transformers  # noqa: F401
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig  # noqa: F401


def _generation() -> None:
    import torch._dynamo  # noqa: F401
    import transformers.generation.utils  # noqa: F401


def _models() -> None:
    import transformers.modeling_utils  # noqa: F401
    from transformers import AutoModelForCausalLM  # noqa: F401
