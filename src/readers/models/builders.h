// One builder per architecture family; registry.cc maps model types to them.
#pragma once

#include <vector>

#include "readers/decoder_plan.h"

namespace trainfit::readers {

// llama_like.cc
void BuildLlama(ReadContext& context);
void BuildMistral(ReadContext& context);
void BuildQwen2(ReadContext& context);
void BuildQwen3(ReadContext& context);
void BuildSmolLm3(ReadContext& context);
void BuildInternLm(ReadContext& context);
void BuildGlm(ReadContext& context);
void BuildGlm4(ReadContext& context);
void BuildPhi3(ReadContext& context);
void BuildStarcoder2(ReadContext& context);
void BuildStableLm(ReadContext& context);

// llama_variants.cc
void BuildExaone4(ReadContext& context);
void BuildErnie45(ReadContext& context);
void BuildHunyuanDense(ReadContext& context);
void BuildSeedOss(ReadContext& context);
void BuildHelium(ReadContext& context);
void BuildArcee(ReadContext& context);
void BuildApertus(ReadContext& context);
void BuildMinistral(ReadContext& context);
void BuildMinistral3(ReadContext& context);
void BuildBitNet(ReadContext& context);
void BuildMimo(ReadContext& context);

// gemma.cc
void BuildGemma(ReadContext& context);
void BuildGemma2(ReadContext& context);
void BuildGemma3Text(ReadContext& context);
void BuildVaultGemma(ReadContext& context);

// gemma3n.cc
void BuildGemma3nText(ReadContext& context);

// decilm.cc
void BuildDeciLm(ReadContext& context);

// gemma4.cc
void BuildGemma4Text(ReadContext& context);

// olmo_cohere.cc
void BuildOlmo(ReadContext& context);
void BuildOlmo2(ReadContext& context);
void BuildCohere(ReadContext& context);

// gpt2_like.cc
void BuildGpt2(ReadContext& context);
void BuildGptBigCode(ReadContext& context);
void BuildGptJ(ReadContext& context);
void BuildCodeGen(ReadContext& context);
void BuildGptNeo(ReadContext& context);
void BuildQwen1(ReadContext& context);

// neox_like.cc
void BuildGptNeox(ReadContext& context);
void BuildBloom(ReadContext& context);
void BuildFalcon(ReadContext& context);
void BuildMpt(ReadContext& context);
void BuildOpt(ReadContext& context);
void BuildPhi(ReadContext& context);
void BuildNemotron(ReadContext& context);

// fused_llama.cc
void BuildChatGlm(ReadContext& context);
void BuildInternLm2(ReadContext& context);
void BuildBaichuan(ReadContext& context);

// moe.cc
void BuildMixtral(ReadContext& context);
void BuildPhiMoe(ReadContext& context);
void BuildMiniMaxM2(ReadContext& context);
void BuildOlmoe(ReadContext& context);
void BuildQwen2Moe(ReadContext& context);
void BuildQwen3Moe(ReadContext& context);

// moe_variants.cc
void BuildErnie45Moe(ReadContext& context);
void BuildHunyuanMoe(ReadContext& context);
void BuildFlexOlmo(ReadContext& context);
void BuildMiniMax(ReadContext& context);

// moe_fused.cc
void BuildGptOss(ReadContext& context);
void BuildLlama4Text(ReadContext& context);
void BuildDbrx(ReadContext& context);
void BuildGraniteMoe(ReadContext& context);
void BuildGrok1(ReadContext& context);
void BuildQwen3VlMoeText(ReadContext& context);

// deepseek.cc
void BuildDeepseek(ReadContext& context);
void BuildGlm4Moe(ReadContext& context);
void BuildDeepseekV2(ReadContext& context);
void BuildDeepseekV3(ReadContext& context);
void BuildGlm4MoeLite(ReadContext& context);
void BuildIndexedLatent(ReadContext& context);
void BuildDots1(ReadContext& context);
void BuildLongcatFlash(ReadContext& context);

// mamba.cc
void BuildMamba(ReadContext& context);
void BuildMamba2(ReadContext& context);
void BuildJamba(ReadContext& context);
void BuildNemotronH(ReadContext& context);

// mamba_hybrids.cc
void BuildBamba(ReadContext& context);
void BuildFalconH1(ReadContext& context);
void BuildGraniteMoeHybrid(ReadContext& context);
void BuildGraniteMoeShared(ReadContext& context);
void BuildZamba2(ReadContext& context);

// linear_attention.cc
void BuildQwen3Next(ReadContext& context);
void BuildQwen35Text(ReadContext& context);
void BuildQwen35MoeText(ReadContext& context);
void BuildRwkv(ReadContext& context);

// bert_like.cc
void BuildBert(ReadContext& context);
void BuildRoberta(ReadContext& context);
void BuildDebertaV2(ReadContext& context);

// small_encoders.cc
void BuildAlbert(ReadContext& context);
void BuildDistilBert(ReadContext& context);
void BuildElectra(ReadContext& context);

// modernbert.cc
void BuildModernBert(ReadContext& context);

// t5.cc
void BuildT5(ReadContext& context);

// bart_like.cc
void BuildBart(ReadContext& context);
void BuildMbart(ReadContext& context);
void BuildM2m100(ReadContext& context);
void BuildPegasus(ReadContext& context);
void BuildMarian(ReadContext& context);
void BuildWhisper(ReadContext& context);

// clip_siglip.cc
void BuildClip(ReadContext& context);
void BuildClipVision(ReadContext& context);
void BuildSiglip(ReadContext& context);
void BuildSiglipVision(ReadContext& context);
void BuildVit(ReadContext& context);

// vision_language.cc
void BuildLlava(ReadContext& context);
void BuildMistral3(ReadContext& context);
void BuildGemma3(ReadContext& context);
void BuildGemma3n(ReadContext& context);
void BuildGemma4(ReadContext& context);
void BuildInternVl(ReadContext& context);
void BuildPaliGemma(ReadContext& context);
void BuildIdefics3(ReadContext& context);
// What can be read of an unknown model with a known "text_config".
void BuildLanguagePart(ReadContext& context);
void BuildLlama4(ReadContext& context);
void BuildMllama(ReadContext& context);
void BuildMllamaText(ReadContext& context);
void BuildQwen2Vl(ReadContext& context);
void BuildQwen25Vl(ReadContext& context);
void BuildQwen3Vl(ReadContext& context);

// unet.cc
void BuildUnet(ReadContext& context);

}  // namespace trainfit::readers
