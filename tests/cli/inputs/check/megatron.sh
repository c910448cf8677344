GPT_ARGS=(
  --num-layers 32 --hidden-size 4096 --seq-length 4096
  --micro-batch-size 1 --global-batch-size 256 --bf16
  --attention-dropout 0.0 --hidden-dropout 0.0
)
PAR=(--tensor-model-parallel-size 4 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce)
torchrun --nproc_per_node 8 pretrain_gpt.py "${GPT_ARGS[@]}" ${PAR[@]} --recompute-granularity selective
