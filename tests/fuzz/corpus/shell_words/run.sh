#!/bin/bash
MODEL=mistralai/Mistral-7B-v0.1
accelerate launch --config_file acc.yaml --num_processes 4 \
  sft.py --model_name_or_path $MODEL --dataset_name x \
  --per_device_train_batch_size 2 --max_length 2048 --gradient_checkpointing \
  --attn_implementation flash_attention_2   # comment
