"""The structs of ik_llama.cpp's C interface, and what the library fills them with, by which a layout is recognised.

Source: include/llama.h in the wheels of ik-llama-cpp-python 0.1.5.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

_INT: Final = ctypes.c_int32
_UINT: Final = ctypes.c_uint32
_BOOL: Final = ctypes.c_bool
_FLOAT: Final = ctypes.c_float
_POINTER: Final = ctypes.c_void_p
_ROOM: Final = ctypes.c_uint8 * 512
"""Behind each struct: a library with a larger one would write here and not into memory that is somebody else's."""


def _fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names.split()]


_CACHE_EDGES: Final = [
    *_fields(_INT, "type_k_first type_k_last type_v_first type_v_last"),
    *_fields(_INT, "n_k_first n_k_last n_v_first n_v_last"),
]


class ModelParams(ctypes.Structure):
    """How to load a model: llama_model_params."""

    _fields_ = (
        ("devices", _POINTER),
        *_fields(_INT, "n_gpu_layers mla split_mode main_gpu max_gpu ncmoe type_k type_v"),
        ("max_ctx_size", _UINT),
        *_fields(_INT, "n_seq_max n_ubatch amb fit_margin"),
        ("fit", _BOOL),
        ("worst_graph_tokens", _INT),
        *_CACHE_EDGES,
        *_fields(_POINTER, "tensor_split rpc_servers progress_callback progress_callback_user_data"),
        *_fields(_POINTER, "kv_overrides tensor_buft_overrides"),
        *_fields(_BOOL, "vocab_only use_mmap use_mlock check_tensors repack_tensors use_thp validate_quants"),
        *_fields(_BOOL, "merge_qkv merge_up_gate_exps mtp dry_run flash_attn"),
        ("room", _ROOM),
    )


class ContextParams(ctypes.Structure):
    """How to make a context: llama_context_params."""

    _fields_ = (
        *_fields(_UINT, "seed n_ctx n_batch n_ubatch n_seq_max n_threads n_threads_batch"),
        *_fields(_INT, "max_extra_alloc worst_case_tokens rope_scaling_type pooling_type attention_type"),
        *_fields(_FLOAT, "rope_freq_base rope_freq_scale yarn_ext_factor yarn_attn_factor"),
        *_fields(_FLOAT, "yarn_beta_fast yarn_beta_slow"),
        ("yarn_orig_ctx", _UINT),
        ("defrag_thold", _FLOAT),
        *_fields(_POINTER, "cb_eval cb_eval_user_data"),
        *_fields(_INT, "type_k type_v type_reduce"),
        *_CACHE_EDGES,
        *_fields(_BOOL, "logits_all embeddings offload_kqv flash_attn"),
        *_fields(_INT, "mla_attn attn_max_batch"),
        *_fields(_BOOL, "fused_moe_up_gate grouped_expert_routing fused_up_gate fused_mmad rope_cache graph_reuse"),
        ("min_experts", _INT),
        ("thresh_experts", _FLOAT),
        *_fields(_BOOL, "only_active_experts k_cache_hadamard v_cache_hadamard split_mode_graph_scheduling"),
        *_fields(_BOOL, "scheduler_async mtp"),
        ("mtp_op_type", _INT),
        *_fields(_POINTER, "abort_callback abort_callback_data offload_policy cuda_params"),
        ("room", _ROOM),
    )


class Batch(ctypes.Structure):
    """The tokens of a pass: llama_batch."""

    _fields_ = (
        ("n_tokens", _INT),
        ("token", ctypes.POINTER(_INT)),
        ("embd", ctypes.POINTER(_FLOAT)),
        ("pos", ctypes.POINTER(_INT)),
        ("n_seq_id", ctypes.POINTER(_INT)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(_INT))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
        *_fields(_INT, "all_pos_0 all_pos_1 all_seq_id"),
        ("room", _ROOM),
    )


_F16: Final = 1
_EDGES: Final = {
    **dict.fromkeys(("type_k_first", "type_k_last", "type_v_first", "type_v_last"), _F16),
    **dict.fromkeys(("n_k_first", "n_k_last", "n_v_first", "n_v_last"), -1),
}
MODEL_DEFAULTS: Final[dict[str, object]] = {
    "split_mode": 1,
    "type_k": _F16,
    "type_v": _F16,
    "n_seq_max": 1,
    "n_ubatch": 512,
    "use_mmap": True,
    "flash_attn": True,
    **_EDGES,
}
"""What llama_model_default_params puts in; all else is nothing: 0, false or no pointer. The next one likewise."""
CONTEXT_DEFAULTS: Final[dict[str, object]] = {
    "seed": 2**32 - 1,
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_threads": 4,
    "n_threads_batch": 4,
    "max_extra_alloc": 256,
    **dict.fromkeys(("rope_scaling_type", "pooling_type", "attention_type", "min_experts"), -1),
    **dict.fromkeys(("yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"), -1.0),
    "defrag_thold": -1.0,
    **dict.fromkeys(("type_k", "type_v", "type_reduce"), _F16),
    "offload_kqv": True,
    "flash_attn": True,
    "mla_attn": 3,
    **dict.fromkeys(("fused_moe_up_gate", "fused_up_gate", "fused_mmad", "graph_reuse"), True),
    **_EDGES,
}


def unexpected(struct: ctypes.Structure, defaults: dict[str, object]) -> str:
    """The first field of a struct, as the library filled it, that holds something else; empty for none."""
    for name, kind in ((field[0], field[1]) for field in struct._fields_ if field[1] is not _ROOM):
        value = getattr(struct, name)
        if defaults.get(name, None if kind is _POINTER else 0) != value:
            return f"{name} = {value}"
    return ""
