"""Write a tiny model with random weights as a GGUF file: random_model.py FILE. Runs in the environment of the rig.

llama.cpp loads it like any model. It answers with random text, so tests can look at everything except the words.
"""

from __future__ import annotations

import sys

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, FEED_FORWARD, CONTEXT = 2, 64, 4, 128, 65_536
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def vocabulary() -> tuple[list[bytes], list[float], list[gguf.TokenType]]:
    """Return tokens, scores and types: the three special tokens, all bytes, and some letters and words."""
    words = [*"abcdefghijklmnopqrstuvwxyz", "▁", "▁the", "▁a", "▁model", "ing", "▁of", "."]
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{byte:02X}>".encode() for byte in range(256))]
    types = [
        gguf.TokenType.UNKNOWN,
        gguf.TokenType.CONTROL,
        gguf.TokenType.CONTROL,
        *[gguf.TokenType.BYTE] * 256,
    ]
    tokens += [word.encode() for word in words]
    types += [gguf.TokenType.NORMAL] * len(words)
    return tokens, [0.0] * 259 + [-float(place) for place in range(len(words))], types


def write(path: str) -> None:
    random = np.random.default_rng(7)
    tokens, scores, types = vocabulary()

    def weights(*shape: int) -> np.ndarray:
        return random.normal(0, 0.5, shape).astype(np.float32)

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output.weight", weights(len(tokens), WIDTH))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name, shape in (
            ("attn_q", (WIDTH, WIDTH)),
            ("attn_k", (WIDTH, WIDTH)),
            ("attn_v", (WIDTH, WIDTH)),
            ("attn_output", (WIDTH, WIDTH)),
            ("ffn_gate", (FEED_FORWARD, WIDTH)),
            ("ffn_up", (FEED_FORWARD, WIDTH)),
            ("ffn_down", (WIDTH, FEED_FORWARD)),
        ):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(*shape))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
