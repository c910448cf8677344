#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "memory/segment_size.h"
#include "verdict/allocation_search.h"

namespace trainfit::verdict {
namespace {

std::string Grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

// Likelihood classes: what needs no further assumption comes first.
enum Rank : int {
  kStated = 0,     // of numbers that were given
  kFromShape = 2,  // of the model's shapes alone
  kConstant = 3,   // of a library's own constant
  kGuessedRanks = 4,
  kRoundTokens = 5,  // if the number of tokens is a power of two
  kGuessedTokens = 6,
};

class Search {
 public:
  Search(const spec::ModelSpec* model, const OomQuestion& oom) : model_(model), oom_(oom) {}

  std::vector<FoundAllocation> Run() {
    Constants();
    if (model_ != nullptr) {
      Tensors();
      Shares();
      Logits();
      Activations();
      Scores();
    }
    std::stable_sort(
        found_.begin(), found_.end(), [](const FoundAllocation& a, const FoundAllocation& b) {
          return std::tuple(!a.fits_moment, a.rank) < std::tuple(!b.fits_moment, b.rank);
        });
    return std::move(found_);
  }

 private:
  bool Matches(std::int64_t bytes) const {
    if (bytes <= 0) return false;
    if (!oom_.is_gpu) return Bytes(bytes) >= oom_.low && Bytes(bytes) <= oom_.high;
    const std::int64_t counted = RoundUp(bytes, memory::kMinBlockSize);
    const Bytes printed(memory::SegmentSize(counted));
    return printed >= oom_.low && printed <= oom_.high;
  }

  void Add(OomCause cause, int rank, std::int64_t bytes, std::string what, std::string formula,
           std::initializer_list<std::string_view> moments) {
    if (!Matches(bytes)) return;
    FoundAllocation found;
    found.cause = cause;
    found.what = std::move(what);
    found.formula = std::move(formula);
    found.phase = moments.size() == 0 ? "" : std::string(*moments.begin());
    found.bytes = Bytes(bytes);
    found.rank = rank;
    found.fits_moment = oom_.moment.empty() ||
                        std::find(moments.begin(), moments.end(), oom_.moment) != moments.end();
    found_.push_back(std::move(found));
  }

  // deepspeed/runtime/zero/config.py 0.19: reduce_bucket_size and allgather_bucket_size 5e8
  // elements, sub_group_size 1e9 elements.
  void Constants() {
    struct Row {
      std::int64_t elements;
      const char* key;
      std::int64_t width;
      const char* type;
    };
    constexpr std::array kRows = std::to_array<Row>({
        {500'000'000, "reduce_bucket_size or allgather_bucket_size", 2, "16 bit"},
        {500'000'000, "reduce_bucket_size or allgather_bucket_size", 4, "fp32"},
        {1'000'000'000, "sub_group_size", 4, "fp32"},
        {1'000'000'000, "sub_group_size", 2, "16 bit"},
    });
    for (const Row& row : kRows) {
      Add(OomCause::kBucket, kConstant, row.elements * row.width,
          fmt::format("a DeepSpeed buffer of {} elements in {}", row.key, row.type),
          fmt::format("{} × {} B", Grouped(row.elements), row.width),
          {"optimizer step", "init", "backward"});
    }
  }

  void Tensor(const spec::TensorSpec& tensor) {
    std::int64_t elements = 1;
    std::string shape;
    for (const std::int64_t size : tensor.shape) {
      elements *= size;
      shape += (shape.empty() ? "[" : ", ") + Grouped(size);
    }
    shape += "]";
    if (!seen_.insert({elements, tensor.name}).second) return;
    const bool is_end =
        tensor.part == spec::Part::kTokenEmbedding || tensor.part == spec::Part::kHead;
    Add(OomCause::kWeights, kFromShape, elements * 2, tensor.name + " in 16 bit", shape + " × 2 B",
        {"load", "init", "forward", "backward"});
    Add(OomCause::kUpcast, kFromShape, elements * 4,
        tensor.name + (is_end ? " cast up to fp32" : " in fp32"), shape + " × 4 B",
        {"init", "load", "optimizer step", "backward", "forward"});
    if (tensor.copies > 1) {
      Add(OomCause::kWeights, kFromShape, elements * tensor.copies * 2,
          "all experts of " + tensor.name + " in 16 bit",
          fmt::format("{} × {} × 2 B", tensor.copies, shape), {"load", "init"});
    }
  }

  void Tensors() {
    for (const spec::Stack& stack : model_->stacks) {
      for (const spec::TensorSpec& tensor : stack.before) Tensor(tensor);
      for (const spec::LayerKind& kind : stack.kinds) {
        for (const spec::TensorSpec& tensor : kind.tensors) Tensor(tensor);
      }
      for (const spec::TensorSpec& tensor : stack.after) Tensor(tensor);
    }
  }

  void Share(std::int64_t parameters, std::int64_t ranks, int rank, std::string_view whose) {
    const std::int64_t share = (parameters + ranks - 1) / ranks;
    for (const std::int64_t width : {std::int64_t{4}, std::int64_t{2}}) {
      const std::string type = width == 4 ? "fp32" : "16 bit";
      const std::string formula =
          ranks == 1
              ? fmt::format("{} parameters × {} B", Grouped(parameters), width)
              : fmt::format("{} parameters / {} ranks × {} B", Grouped(parameters), ranks, width);
      if (ranks == 1) {
        Add(OomCause::kFlatBuffer, rank, share * width,
            fmt::format("{} in one piece in {}", whose, type), formula,
            {"init", "load", "optimizer step"});
      } else {
        Add(OomCause::kShare, rank, share * width,
            fmt::format("one rank's share of {} in {}: an optimizer state, master weights or "
                        "gradients",
                        whose, type),
            formula, {"optimizer step", "init", "backward"});
      }
    }
  }

  void Shares() {
    std::vector<std::pair<std::int64_t, std::string_view>> totals = {
        {spec::ParameterCount(*model_), "all parameters"}};
    if (model_->stacks.size() > 1) {
      spec::ModelSpec text = *model_;
      text.stacks = {model_->Text()};
      totals.emplace_back(spec::ParameterCount(text), "the language model's parameters");
    }
    for (const auto& [parameters, whose] : totals) {
      Share(parameters, 1, kGuessedRanks, whose);
      if (oom_.ranks) {
        if (*oom_.ranks > 1) Share(parameters, *oom_.ranks, kStated, whose);
        continue;
      }
      for (std::int64_t ranks = 2; ranks <= 256; ranks *= 2) {
        Share(parameters, ranks, kGuessedRanks, whose);
      }
    }
  }

  // Calls see(tokens, rank) for numbers of tokens that a tensor of `width` bytes a token can have.
  template <typename See>
  void ForTokens(std::int64_t width, const See& see) const {
    if (width <= 0) return;
    if (oom_.length) {
      const std::int64_t batch = oom_.micro_batch.value_or(1);
      see(batch * *oom_.length, kStated);
      // Shifted labels: one token less a sequence, where that makes a difference.
      if (!Matches(batch * *oom_.length * width)) see(batch * (*oom_.length - 1), kStated);
      if (oom_.micro_batch) return;
    }
    // Guesses: numbers that people choose, powers of two and 3 × 2^n of them.
    constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;
    const std::int64_t last = oom_.high.value() / width;
    for (std::int64_t power = 128; power <= std::min(kMostTokens, last); power *= 2) {
      see(power, kRoundTokens);
      see(power / 2 * 3, kGuessedTokens);
    }
  }

  static std::string TokensText(std::int64_t tokens, int rank) {
    return fmt::format("{}{} tokens", rank == kStated ? "" : "if they are ", Grouped(tokens));
  }

  void Logits() {
    for (const std::int64_t width : {std::int64_t{4}, std::int64_t{2}}) {
      ForTokens(model_->vocab * width, [&](std::int64_t tokens, int rank) {
        Add(OomCause::kLogits, rank, tokens * model_->vocab * width,
            fmt::format("logits in {}", width == 4 ? "fp32" : "16 bit"),
            fmt::format("{} × {} words × {} B", TokensText(tokens, rank), Grouped(model_->vocab),
                        width),
            {"loss", "backward", "forward"});
      });
    }
  }

  void Activations() {
    std::set<std::pair<std::int64_t, std::string>> widths = {
        {model_->Text().hidden, "the hidden size"}};
    for (const spec::LayerKind& kind : model_->Text().kinds) {
      if (kind.mlp.intermediate > 0) widths.insert({kind.mlp.intermediate, "the MLP's width"});
    }
    for (const auto& [width, name] : widths) {
      for (const std::int64_t bytes : {std::int64_t{2}, std::int64_t{4}}) {
        ForTokens(width * bytes, [&, wide = width, called = name](std::int64_t tokens, int rank) {
          Add(OomCause::kActivations, rank + 1, tokens * wide * bytes,
              fmt::format("activations of {} in {}", called, bytes == 4 ? "fp32" : "16 bit"),
              fmt::format("{} × {} × {} B", TokensText(tokens, rank), Grouped(wide), bytes),
              {"forward", "backward"});
        });
      }
    }
  }

  // batch × heads × length², eager attention.
  void Scores() {
    std::set<std::int64_t> heads;
    for (const spec::LayerKind& kind : model_->Text().kinds) heads.insert(kind.attention.heads);
    for (const std::int64_t count : heads) {
      if (count <= 0) continue;
      for (const std::int64_t width : {std::int64_t{2}, std::int64_t{4}}) {
        if (oom_.length) {
          Score(count, oom_.micro_batch.value_or(1), *oom_.length, width, kStated);
          continue;
        }
        const double squared =
            static_cast<double>(oom_.low.value()) / static_cast<double>(count * width);
        const auto guess = static_cast<std::int64_t>(std::sqrt(squared));
        for (std::int64_t length = RoundUp(std::max<std::int64_t>(guess - 64, 64), 64);
             length <= guess + 64; length += 64) {
          Score(count, 1, length, width, kGuessedTokens);
        }
      }
    }
  }

  void Score(std::int64_t heads, std::int64_t batch, std::int64_t length, std::int64_t width,
             int rank) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 22;
    if (length > kLongest || batch > (1 << 16)) return;
    Add(OomCause::kScores, rank, batch * heads * length * length * width,
        fmt::format("attention scores in {}", width == 4 ? "fp32" : "16 bit"),
        fmt::format("{}{} × {} heads × {}² × {} B", rank == kStated ? "" : "if they are ", batch,
                    heads, Grouped(length), width),
        {"forward", "backward"});
  }

  const spec::ModelSpec* model_;
  const OomQuestion& oom_;
  std::set<std::pair<std::int64_t, std::string>> seen_;
  std::vector<FoundAllocation> found_;
};

}  // namespace

std::string_view Name(OomCause cause) {
  switch (cause) {
    case OomCause::kWeights:
      return "weights";
    case OomCause::kUpcast:
      return "upcast";
    case OomCause::kShare:
      return "share";
    case OomCause::kFlatBuffer:
      return "flat_buffer";
    case OomCause::kBucket:
      return "bucket";
    case OomCause::kLogits:
      return "logits";
    case OomCause::kScores:
      return "scores";
    case OomCause::kActivations:
      return "activations";
    case OomCause::kOther:
      return "other";
  }
  return "";
}

std::vector<FoundAllocation> SearchShapes(const spec::ModelSpec* model, const OomQuestion& oom) {
  return Search(model, oom).Run();
}

}  // namespace trainfit::verdict
