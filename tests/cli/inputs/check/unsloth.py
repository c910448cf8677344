model, tokenizer = FastLanguageModel.from_pretrained("unsloth/llama-3-8b", load_in_4bit=True)
