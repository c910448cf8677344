"""One case, run with the real libraries on fake tensors: what is live after each phase.

The order of a step is that of transformers' Trainer (trainer.py, training_step and
_inner_training_loop): batch, forward under autocast, outputs dropped, backward, clipped norm,
optimizer step, gradients set to None.
"""

import gc

import torch
from accelerate.utils.operations import convert_outputs_to_fp32
from peft import LoraConfig, get_peft_model
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModelForCausalLM
from transformers.optimization import Adafactor
from trl.trainer.utils import add_fused_lm_head

import standins
from tracker import Tracker

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "bf16-pure": torch.bfloat16}


def make_model(case, config):
    dtype = DTYPES[case["precision"]]
    # A frozen base is loaded in the checkpoint's type, a trained one in fp32 for autocast to cast.
    if case["precision"] == "bf16":
        dtype = torch.float32 if case["method"] == "full" else torch.bfloat16
    model = AutoModelForCausalLM.from_config(
        config, dtype=dtype, attn_implementation=case["attention"]
    )
    model.train()
    return model


def add_adapters(case, model):
    lora = LoraConfig(
        r=case["lora_r"],
        lora_alpha=16,
        lora_dropout=case["lora_dropout"],
        target_modules=case["lora_targets"],
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, lora)


def make_optimizer(case, parameters):
    name, _, loop = case["optimizer"].partition("/")
    if name == "adamw":
        flags = {"fused": {"fused": True}, "foreach": {"foreach": True},
                 "for-loop": {"foreach": False, "fused": False}}[loop]
        return torch.optim.AdamW(parameters, lr=1e-4, **flags)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4)
    if name == "sgd-momentum":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9)
    if name == "adafactor":
        return Adafactor(parameters, lr=1e-4, scale_parameter=False, relative_step=False)
    raise ValueError(f"optimizer {name}")


def prepare_forward(case, model):
    """accelerate/accelerator.py prepare_model: autocast around forward, its outputs in fp32."""
    if case["precision"] != "bf16":
        return
    forward = model.forward.__func__
    wrapped = torch.autocast("cuda", dtype=torch.bfloat16)(forward)
    model.forward = convert_outputs_to_fp32(wrapped.__get__(model))


def compute_loss(case, model, ids, labels):
    if case["loss"] == "plain":
        return model(input_ids=ids, labels=labels)["loss"]
    # trl/trainer/sft_trainer.py compute_loss: the loss is taken outside the model.
    outputs = model(input_ids=ids, labels=labels, fused_lm_head=True)
    per_token = -outputs.log_probs
    return per_token.sum() / torch.as_tensor(outputs.label_mask.sum()).clamp(min=1)


def run(case, config, log=False):
    """Bytes: `load`, `init` (ends), `first_step`, `steady_step` (peaks), and what makes them up."""
    result = {}
    gc.collect()
    gc.freeze()  # what was imported is never garbage: later collections are quick
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with fake, Tracker() as tracker, standins.installed(), torch.device("cuda"), \
            torch.autograd.set_multithreading_enabled(False):
        model = make_model(case, config)
        gc.collect()
        tracker.window()
        result["load"] = tracker.live
        if case["loss"] == "chunked":
            add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
        if case["method"] == "lora":
            model = add_adapters(case, model)
        if case["checkpointing"]:
            model.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": case["reentrant"]})
            if case["method"] == "lora":
                model.enable_input_require_grads()
        model.train()
        model.config.use_cache = False
        gc.collect()
        result["init"] = tracker.live
        prepare_forward(case, model)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = make_optimizer(case, trained)
        for step in ("first_step", "steady_step"):
            tracker.window()
            if log and step == "steady_step":
                tracker.log = []
            shape = (case["batch"], case["length"])
            ids = torch.zeros(shape, dtype=torch.int64)
            labels = torch.zeros(shape, dtype=torch.int64)
            loss = compute_loss(case, model, ids, labels)
            result[step + "_forward"] = tracker.live
            tracker.in_backward = True
            loss.backward()
            tracker.in_backward = False
            loss = loss.detach()
            result[step + "_backward"] = tracker.live
            gradients = tracker.numbers(p.grad for p in trained)
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            result[step] = tracker.peak
            result[step + "_peak_op"] = tracker.peak_op
            if step == "steady_step":
                states = [v for s in optimizer.state.values() for v in s.values()
                          if isinstance(v, torch.Tensor)]
                result["at_peak"] = {
                    "weights": tracker.at_peak_of(tracker.numbers(model.parameters())),
                    "gradients": tracker.at_peak_of(gradients),
                    "optimizer": tracker.at_peak_of(tracker.numbers(states)),
                    "largest": tracker.largest_at_peak(),
                }
            del ids, labels, loss
            gc.collect()
            result[step + "_end"] = tracker.live
        if log:
            result["log"] = tracker.log
    return result
