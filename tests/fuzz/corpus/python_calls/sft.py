from trl import SFTConfig, SFTTrainer
n = 2_048
args = SFTConfig(max_length=n, bf16=True, learning_rate=2e-4, betas=(0.9, 0.999),
                 model_init_kwargs={"dtype": torch.bfloat16}, output_dir=f"{x}")
SFTTrainer(model="a/b", args=args, peft_config=LoraConfig(r=16, target_modules=["q_proj"])).train()
