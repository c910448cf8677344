"""The cases: models of the catalogue with few layers, each under the same list of settings."""

import json
import pathlib

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "models"

# Catalogue file (without .json), and what its configuration is changed by. Layers beyond the second
# repeat what the first two show; a small vocabulary lets the layers, not the loss, make the peak.
ARCHITECTURES = {
    "llama-mha": ("meta-llama--Llama-2-7b-hf", {}),
    "llama-gqa": ("meta-llama--Llama-3.1-8B", {"vocab_size": 16384}),
    "llama-tied": ("meta-llama--Llama-3.2-1B-Instruct", {}),
    "mistral": ("mistralai--Mistral-7B-v0.1", {}),
    "qwen2-bias": ("Qwen--Qwen2-0.5B", {}),
    "qwen2-untied": ("Qwen--Qwen1.5-7B", {"vocab_size": 8192}),
    "qwen3-qknorm": ("Qwen--Qwen3-8B", {"vocab_size": 16384}),
    "olmo2": ("allenai--OLMo-2-1124-7B", {}),
    "granite": ("ibm-granite--granite-3.0-8b-base", {}),
    "phi3-fused": ("microsoft--Phi-3-mini-4k-instruct", {}),
    "gemma2": ("google--gemma-2-2b", {"vocab_size": 32000}),
    "gpt2": ("openai-community--gpt2-medium", {}),
    "neox": ("EleutherAI--pythia-1b", {}),
    "opt": ("facebook--opt-1.3b", {}),
    "starcoder2": ("bigcode--starcoder2-7b", {}),
    "bloom": ("bigscience--bloom-1b1", {"vocab_size": 32000}),
    "mixtral": ("mistralai--Mixtral-8x7B-v0.1", {}),
    "qwen3-moe": ("Qwen--Qwen3-30B-A3B", {"vocab_size": 16384}),
}

LAYER_KEYS = ("num_hidden_layers", "n_layer", "num_layers")

BASE = {
    "method": "full", "precision": "bf16", "checkpointing": True, "reentrant": False,
    "loss": "plain", "optimizer": "adamw/fused", "attention": "sdpa", "batch": 2, "length": 2048,
    "layers": 2,
}
LORA = {"method": "lora", "lora_r": 16, "lora_dropout": 0.0, "lora_targets": "all-linear"}

SETTINGS = {
    "full": {},
    "full-nockpt": {"checkpointing": False, "batch": 1},
    "full-pure": {"precision": "bf16-pure", "length": 1024},
    "full-pure-nockpt-foreach": {"precision": "bf16-pure", "checkpointing": False,
                                 "optimizer": "adamw/foreach"},
    "full-fp32-nockpt-eager": {"precision": "fp32", "checkpointing": False, "attention": "eager",
                               "batch": 1, "length": 1024},
    "full-fp32-eager": {"precision": "fp32", "attention": "eager", "length": 1024},
    "full-chunked": {"loss": "chunked", "length": 4096},
    "full-nockpt-chunked": {"loss": "chunked", "checkpointing": False, "length": 4096},
    "full-pure-nockpt-chunked-eager": {"precision": "bf16-pure", "checkpointing": False,
                                       "loss": "chunked", "attention": "eager"},
    "full-foreach": {"optimizer": "adamw/foreach", "batch": 1, "length": 512},
    "full-pure-sgd-momentum": {"precision": "bf16-pure", "optimizer": "sgd-momentum", "batch": 4},
    "full-nockpt-eager": {"checkpointing": False, "attention": "eager", "length": 1024},
    "full-reentrant": {"reentrant": True, "batch": 4, "length": 1024},
    "lora": LORA,
    "lora-nockpt": {**LORA, "checkpointing": False},
    "lora-nockpt-dropout": {**LORA, "checkpointing": False, "lora_dropout": 0.05},
    "lora-dropout-chunked": {**LORA, "lora_dropout": 0.05, "loss": "chunked", "length": 4096},
    "lora-pure": {**LORA, "precision": "bf16-pure", "batch": 1},
    "lora-pure-nockpt-dropout": {**LORA, "precision": "bf16-pure", "checkpointing": False,
                                 "lora_dropout": 0.05, "lora_r": 64},
    "lora-chunked": {**LORA, "loss": "chunked", "length": 4096},
    "lora-nockpt-chunked-eager": {**LORA, "loss": "chunked", "checkpointing": False,
                                  "attention": "eager", "length": 1024},
    "lora-nockpt-chunked": {**LORA, "loss": "chunked", "checkpointing": False, "lora_r": 8},
}


def config_of(case):
    """The config.json of a case: the catalogue's, with the case's changes."""
    record = json.loads((MODELS / (case["model"] + ".json")).read_text())
    config = dict(record["config"])
    for key in LAYER_KEYS:
        if key in config:
            config[key] = case["layers"]
    config.update(case["changes"])
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][: case["layers"]]
    return config


def all_cases():
    for name, (model, changes) in ARCHITECTURES.items():
        for setting, values in SETTINGS.items():
            yield {"id": f"{name}/{setting}", "model": model, "changes": changes, **BASE, **values}
