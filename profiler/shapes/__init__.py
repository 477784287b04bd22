"""What a model costs, worked out from its config.json alone: parameters, bytes, KV, FLOPs, fit.

No torch and no transformers here, so that window, engine and command line can ask before
anything is loaded. Thread: any; all functions are pure but `refine_from_safetensors`, which
reads file headers.

    shape_from_config          a config.json -> ModelShape (families.py counts the parameters)
    refine_from_safetensors    the same with the exact numbers of the checkpoint's headers
    prompt_work                the arithmetic of a prompt, and its way through a session file
    step_bytes, kv_bytes, ...  the formulas of MEASUREMENT section 6
    fit_check                  against free memory, in words
"""

from __future__ import annotations

from profiler.shapes.checkpoint import (
    Checkpoint,
    read_safetensors_header,
    refine_from_safetensors,
    scan_safetensors,
)
from profiler.shapes.families import shape_from_config
from profiler.shapes.fit import Fit, fit_check, working_bytes
from profiler.shapes.model import (
    DTYPE_BYTES,
    Experts,
    LayerShape,
    ModelShape,
    active_experts,
    kv_bytes,
    kv_bytes_per_token,
    resolve_dtype,
    step_bytes,
    weight_bytes,
    weight_bytes_per_step,
)
from profiler.shapes.prompt_work import (
    PromptWork,
    prompt_flops,
    prompt_work,
    prompt_work_from_fact,
)

__all__ = [
    "DTYPE_BYTES",
    "Checkpoint",
    "Experts",
    "Fit",
    "LayerShape",
    "ModelShape",
    "PromptWork",
    "active_experts",
    "fit_check",
    "kv_bytes",
    "kv_bytes_per_token",
    "prompt_flops",
    "prompt_work",
    "prompt_work_from_fact",
    "read_safetensors_header",
    "refine_from_safetensors",
    "resolve_dtype",
    "scan_safetensors",
    "shape_from_config",
    "step_bytes",
    "weight_bytes",
    "weight_bytes_per_step",
    "working_bytes",
]
