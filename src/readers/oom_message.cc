#include "readers/oom_message.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/numeral.h"
#include "base/text.h"
#include "readers/oom_phrases.h"

namespace trainfit::readers {
namespace {

constexpr int kShownColumns = 300;

struct Unit {
  std::string_view word;
  double bytes;
};
// PyTorch's format_size divides by powers of 1024 whatever it prints (MPS prints "GB").
constexpr std::array kUnits = std::to_array<Unit>({
    {"bytes", 1.0},
    {"KiB", 1024.0},
    {"MiB", 1048576.0},
    {"GiB", 1073741824.0},
    {"TiB", 1099511627776.0},
    {"KB", 1024.0},
    {"MB", 1048576.0},
    {"GB", 1073741824.0},
    {"B", 1.0},
});

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "16.83 GiB" at the beginning of a text.
std::optional<PrintedBytes> AmountAt(std::string_view text) {
  std::size_t end = 0;
  std::size_t digits_after = 0;
  bool has_point = false;
  while (end < text.size() && (IsDigit(text[end]) || (text[end] == '.' && !has_point))) {
    if (has_point) ++digits_after;
    has_point = has_point || text[end] == '.';
    ++end;
  }
  if (end == 0 || end > 24) return std::nullopt;
  const std::optional<double> number = ParseDecimal(text.substr(0, end));
  if (!number) return std::nullopt;
  std::size_t unit_at = end;
  if (unit_at < text.size() && text[unit_at] == ' ') ++unit_at;
  for (const Unit& unit : kUnits) {
    if (!text.substr(unit_at).starts_with(unit.word)) continue;
    const double value = *number * unit.bytes;
    constexpr double kMost = 9.0e17;
    if (value > kMost) return std::nullopt;
    // Half of the last printed digit to each side; whole bytes are exact.
    const double half = unit.bytes == 1.0
                            ? 0
                            : 0.5 * unit.bytes * std::pow(10.0, -static_cast<double>(digits_after));
    PrintedBytes amount;
    amount.value = Bytes(std::llround(value));
    amount.low = Bytes(std::max<std::int64_t>(0, std::llround(std::floor(value - half))));
    amount.high = Bytes(std::llround(std::ceil(value + half)));
    amount.text = std::string(text.substr(0, unit_at + unit.word.size()));
    return amount;
  }
  return std::nullopt;
}

std::optional<PrintedBytes> AmountAfter(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + phrase.size());
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  return AmountAt(text);
}

// The amount that stands before a phrase: "21.70 GiB already allocated".
std::optional<PrintedBytes> AmountBefore(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == std::string_view::npos) return std::nullopt;
  // Back over the unit and the number: two words.
  std::size_t begin = at;
  for (int words = 0; words < 2; ++words) {
    while (begin > 0 && text[begin - 1] == ' ') --begin;
    while (begin > 0 && text[begin - 1] != ' ' && text[begin - 1] != '(' &&
           text[begin - 1] != ';') {
      --begin;
    }
  }
  return AmountAt(text.substr(begin));
}

std::string_view LineAt(std::string_view text, std::size_t at) {
  const std::size_t begin = text.rfind('\n', at);
  const std::size_t first = begin == std::string_view::npos ? 0 : begin + 1;
  return text.substr(first, text.find('\n', at) - first);
}

void ReadGpuNumbers(std::string_view text, OomMessage& message) {
  // Old: "(GPU 0; 23.69 GiB total capacity; 21.70 GiB already allocated; 1.10 GiB free; 22.03 GiB
  // reserved in total by PyTorch)"; before 1.5 "cached". New: "GPU 0 has a total capacity of
  // 23.69 GiB of which 1.10 GiB is free. … this process has 21.27 GiB memory in use. Of the
  // allocated memory 17.87 GiB is allocated by PyTorch, and 2.96 GiB is reserved by PyTorch but
  // unallocated."
  message.requested = AmountAfter(text, "ried to allocate");
  message.capacity = AmountBefore(text, "total capacity");
  for (const std::string_view phrase : {"total capacity of", "total capacty of"}) {
    if (!message.capacity) message.capacity = AmountAfter(text, phrase);
  }
  message.free = AmountBefore(text, "is free");
  if (!message.free) message.free = AmountBefore(text, "free;");
  message.in_use = AmountAfter(text, "this process has");
  message.allocated = AmountBefore(text, "already allocated");
  if (!message.allocated) message.allocated = AmountBefore(text, "is allocated by PyTorch");
  if (!message.allocated) message.allocated = AmountAfter(text, "MPS allocated:");
  if (!message.capacity) message.capacity = AmountAfter(text, "max allowed:");
  message.reserved = AmountBefore(text, "reserved in total by PyTorch");
  if (!message.reserved) message.reserved = AmountBefore(text, "cached)");
  message.unallocated = AmountBefore(text, "is reserved by PyTorch but unallocated");
  const std::size_t gpu = text.find("GPU ");
  if (gpu != std::string_view::npos && gpu + 4 < text.size() && IsDigit(text[gpu + 4])) {
    message.device = ParseInteger(
        text.substr(gpu + 4, text.find_first_not_of("0123456789", gpu + 4) - (gpu + 4)));
  }
  // Each of the two follows from the other.
  if (!message.reserved && message.allocated && message.unallocated) {
    PrintedBytes sum = *message.allocated;
    sum.value += message.unallocated->value;
    sum.low += message.unallocated->low;
    sum.high += message.unallocated->high;
    sum.text.clear();
    message.reserved = sum;
  } else if (!message.unallocated && message.allocated && message.reserved) {
    PrintedBytes rest;
    rest.value = std::max(Bytes(), message.reserved->value - message.allocated->value);
    rest.low = std::max(Bytes(), message.reserved->low - message.allocated->high);
    rest.high = std::max(Bytes(), message.reserved->high - message.allocated->low);
    message.unallocated = rest;
  }
}

// The last frame of the traceback that says something.
void FindMoment(std::string_view text, OomMessage& message) {
  std::size_t best = 0;
  for (const MomentPhrase& row : MomentPhrases()) {
    const std::size_t at = text.rfind(row.phrase);
    if (at == std::string_view::npos) continue;
    // A later table row is the more specific one at the same place.
    if (message.moment != OomMoment::kUnknown && row.rank < best) continue;
    best = row.rank;
    message.moment = row.moment;
    message.evidence = CutToWidth(Printable(LineAt(text, at)), 100);
  }
  const std::size_t begin = message.evidence.find_first_not_of(' ');
  if (begin != std::string::npos) message.evidence.erase(0, begin);
}

}  // namespace

Expected<OomMessage> ReadOomMessage(std::string_view name, std::string_view text) {
  const OomPhrase* found = nullptr;
  std::size_t found_at = 0;
  for (const OomPhrase& row : OomPhrases()) {
    const std::size_t at = text.rfind(row.phrase);
    if (at == std::string_view::npos) continue;
    // The allocator's message is the cause, what launchers say after it the consequence.
    if (found != nullptr && row.kind == OomKind::kHostKilled) continue;
    if (found == nullptr) {
      found = &row;
      found_at = at;
    }
  }
  if (found == nullptr) {
    SourceSpan span;
    span.file = name;
    Diagnostic problem =
        ErrorAt(std::move(span), "no-message", "there is no message about memory in this text",
                "the lines with \"out of memory\", the traceback above them included");
    problem.notes.emplace_back(
        "known: CUDA, HIP, XPU and MPS out of memory, DefaultCPUAllocator, bitsandbytes, NCCL, "
        "cuBLAS, pinned memory, /dev/shm, exit -9, no space left");
    return Fail(std::move(problem));
  }
  OomMessage message;
  message.kind = found->kind;
  message.line = CutToWidth(Printable(LineAt(text, found_at)), kShownColumns);
  // Messages may be broken into lines where they were pasted.
  constexpr std::size_t kMessageBytes = 1200;
  std::string around(text.substr(found_at, kMessageBytes));
  std::replace(around.begin(), around.end(), '\n', ' ');
  switch (message.kind) {
    case OomKind::kGpu:
      ReadGpuNumbers(around, message);
      break;
    case OomKind::kHostAllocator:
    case OomKind::kPinned:
      message.requested = AmountAfter(around, "tried to allocate");
      break;
    default:
      break;
  }
  FindMoment(text, message);
  return message;
}

}  // namespace trainfit::readers
