// Any bytes as headers of safetensors and GGUF files, and as a shape: tensors or an error that says
// why.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "config/json_reader.h"
#include "readers/checkpoint/gguf.h"
#include "readers/checkpoint/stored_model.h"
#include "readers/model_config.h"
#include "readers/shape_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainfit;
  using namespace trainfit::readers;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  auto tensors = ParseSafetensors("fuzz", bytes, size);
  CHECK(tensors.has_value() || !tensors.error().empty()) << "a refusal says why";
  if (tensors.has_value()) {
    const spec::ModelSpec model = ModelOfTensors("fuzz", Unpack(std::move(*tensors)));
    CHECK(!model.not_simulated.empty()) << "tensors alone make no program";
  }
  GgufHeader header;
  const auto state = ParseGguf("fuzz", bytes, size, &header);
  CHECK(state.has_value() || !state.error().empty()) << "a refusal says why";
  CHECK(!state.has_value() || *state == GgufState::kDone) << "the whole file was there";
  if (state.has_value()) {
    const std::string config = ConfigOfGguf(header);
    CHECK(config.empty() || config::ParseJson("fuzz", config).has_value()) << config;
  }
  const auto shape = ReadShapeText(bytes, nullptr);
  CHECK(!shape.has_value() || shape->has_value() || !shape->error().empty()) << "it says why";
  return 0;
}
