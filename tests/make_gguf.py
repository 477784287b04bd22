"""A small real GGUF file for tests: Llama architecture, fp32, byte-level tokenizer."""

from __future__ import annotations

from pathlib import Path

HIDDEN, LAYERS, HEADS, KV_HEADS, INNER, VOCAB, CONTEXT = 64, 2, 4, 2, 96, 300, 512


def write_tiny_gguf(path: Path) -> Path:
    """Write a Llama of 100,160 parameters with random weights to `path`; the path."""
    import gguf
    import numpy as np

    from profiler.worker.sources.tokenizer import byte_symbols

    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * 0.05).astype(np.float32)

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("Tiny test model")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("gpt2")
    tokens = [*byte_symbols(), "<|bos|>", "<|eos|>", "<|pad|>"]
    # One merge, since a BPE without any is refused by the reader.
    tokens += ["th"] + [f"<unused{index}>" for index in range(VOCAB - len(tokens) - 1)]
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 256 + [3] * 3 + [1] * (VOCAB - 259))
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_pad_token_id(258)
    kv_width = HIDDEN // HEADS * KV_HEADS
    writer.add_tensor("token_embd.weight", matrix(VOCAB, HIDDEN))
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    writer.add_tensor("output.weight", matrix(VOCAB, HIDDEN))
    for index in range(LAYERS):
        block = f"blk.{index}"
        writer.add_tensor(f"{block}.attn_norm.weight", np.ones(HIDDEN, np.float32))
        writer.add_tensor(f"{block}.ffn_norm.weight", np.ones(HIDDEN, np.float32))
        writer.add_tensor(f"{block}.attn_q.weight", matrix(HIDDEN, HIDDEN))
        writer.add_tensor(f"{block}.attn_k.weight", matrix(kv_width, HIDDEN))
        writer.add_tensor(f"{block}.attn_v.weight", matrix(kv_width, HIDDEN))
        writer.add_tensor(f"{block}.attn_output.weight", matrix(HIDDEN, HIDDEN))
        writer.add_tensor(f"{block}.ffn_gate.weight", matrix(INNER, HIDDEN))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(INNER, HIDDEN))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(HIDDEN, INNER))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
