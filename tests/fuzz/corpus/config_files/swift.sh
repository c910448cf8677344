NPROC_PER_NODE=8 swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --tuner_type full \
    --dataset AI-ModelScope/alpaca-gpt4-data-zh \
    --max_length 4096 \
    --per_device_train_batch_size 1 \
    --deepspeed zero3_offload \
    --attn_impl flash_attn
