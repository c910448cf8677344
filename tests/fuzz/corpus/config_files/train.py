from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.bfloat16)
trainer = SFTTrainer(
    model,
    args=SFTConfig(per_device_train_batch_size=2, max_length=4096, output_dir="out"),
    peft_config=LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"),
    train_dataset=load_dataset("x", split="train"),
)
trainer.train()
