#include "validate/read_as.h"

#include <algorithm>
#include <array>

namespace trainfit::validate {
namespace {

constexpr std::array kTable = {
    ReadAs{
        "InternEvo/InternLM", "megatron",
        "internlm/solver/optimizer/hybrid_zero_optim.py and model/modeling_internlm.py: "
        "tensor, sequence and pipeline parallelism after Megatron, fp32 masters and moments "
        "spread as by its distributed optimizer, flash-attention; a group that spreads them "
        "may be smaller than all replicas, and buckets of gradients are reduced beside backward"},
    ReadAs{"nanotron", "megatron",
           "nanotron/nn/layers and parallel/pipeline_parallel/engine.py: Megatron's column and row "
           "parallel layers with sequence parallelism, 1F1B, ZeRO-1 with fp32 gradients, "
           "flash-attention; norms are flash-attention's Triton kernels"},
    ReadAs{"Megatron+DeepSpeed 3D", "megatron-deepspeed", "the same program by another name"},
    ReadAs{"megatron-swift", "megatron-core", "ms-swift swift/megatron: calls Megatron-Core"},
    ReadAs{"nemo", "nemo (Megatron-Core)", "NeMo's language models are Megatron-Core's"},
    ReadAs{"megatron-sp", "megatron", "Megatron with sequence parallelism"},
    ReadAs{"torchtitan (FSDP2)", "torchtitan", "the same program"},
    ReadAs{"ms-swift (HF Trainer + DeepSpeed)", "ms-swift (hf-trainer)", "the same program"},
    ReadAs{"pytorch", "transformers", "a transformers model in a loop of its own"},
    ReadAs{"atorch (torch FSDP)", "fsdp", "transformers' model wrapped by torch's FSDP"},
    ReadAs{"HF Trainer/TRL SFT + PEFT", "trl SFTTrainer", "the same program"},
    ReadAs{"xtuner 0.1", "xtuner", "the same program"},
    ReadAs{"peft + custom loop", "peft (custom loop)", "the same program"},
    ReadAs{"fsdp+peft", "fsdp", "transformers' model with PEFT's adapters under torch's FSDP"},
    ReadAs{"accelerate fsdp", "fsdp", "the same program"},
    ReadAs{"lmflow", "transformers", "lmflow/pipeline/finetuner.py: transformers Trainer"},
    ReadAs{"qlora repo", "transformers", "artidoro/qlora qlora.py: Seq2SeqTrainer"},
    ReadAs{"longlora", "transformers", "LongLoRA fine-tune.py: transformers Trainer"},
    ReadAs{"starcoder finetune.py", "transformers", "starcoder finetune/finetune.py: Trainer"},
    ReadAs{"toolbench", "transformers", "ToolBench toolbench/train: FastChat's Trainer"},
    ReadAs{"llava", "transformers", "LLaVA train/llava_trainer.py: transformers Trainer"},
    ReadAs{"qwen-vl-finetune", "transformers", "Qwen2-VL qwen-vl-finetune: transformers Trainer"},
    ReadAs{"fms-fsdp (PyTorch FSDP)", "fms-fsdp",
           "fms_fsdp/utils: a LLaMA in plain modules, FSDP1 with its bfSixteen policy"},
};

}  // namespace

const ReadAs* FindReadAs(std::string_view name) {
  const auto* found = std::find_if(kTable.begin(), kTable.end(),
                                   [&](const ReadAs& row) { return row.name == name; });
  return found == kTable.end() ? nullptr : found;
}

}  // namespace trainfit::validate
