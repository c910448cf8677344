#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "readers/checkpoint/stored_tensors.h"
#include "readers/layer_plan.h"

namespace trainfit::readers {
namespace {

struct StoredType {
  std::string_view name;
  int bits;
};
// safetensors/src/tensor.rs, Dtype.
constexpr StoredType kTypes[] = {
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
};

constexpr std::size_t kMostDimensions = 16;

Diagnostic Bad(const std::string& name, const std::string& what) {
  return Error("bad-safetensors", fmt::format("{}: {}", name, what),
               "download the file again; its size is in the repository's list of files");
}

// The header is JSON of one fixed form. Files have up to a million tensors: this walks the text
// once instead of building a tree of it.
class Header {
 public:
  Header(const std::string& name, std::string_view text, std::uint64_t data_bytes)
      : name_(name), text_(text), data_bytes_(data_bytes) {}

  Expected<std::vector<StoredTensor>> Parse() {
    ParseAll();
    if (error_.empty()) CheckRanges();
    if (!error_.empty()) return Fail(Bad(name_, error_));
    return std::move(tensors_);
  }

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t tensor = 0;
  };

  void ParseAll() {
    if (!Take('{')) return Complain("an object is expected");
    if (Peek('}')) return Finish();
    do {
      const std::string key = Text();
      if (!Take(':')) return Complain("a colon is expected");
      if (key == "__metadata__") {
        SkipMetadata();
      } else {
        ParseTensor(key);
      }
      if (!error_.empty()) return;
    } while (Take(','));
    if (!Peek('}')) return Complain("a comma or the end of the object is expected");
    Finish();
  }

  void Finish() {
    Take('}');
    Spaces();
    if (at_ != text_.size()) Complain("text after the end of the header");
  }

  void ParseTensor(const std::string& key) {
    StoredTensor tensor;
    tensor.name = key;
    Range range;
    range.tensor = tensors_.size();
    bool has_type = false;
    bool has_shape = false;
    bool has_range = false;
    if (!Take('{')) return Complain(fmt::format("\"{}\" must be an object", key));
    do {
      const std::string field = Text();
      if (!Take(':')) return Complain("a colon is expected");
      if (field == "dtype") {
        tensor.dtype = Text();
        has_type = true;
      } else if (field == "shape") {
        for (const std::uint64_t size : Numbers()) {
          tensor.shape.push_back(static_cast<std::int64_t>(
              std::min<std::uint64_t>(size, std::numeric_limits<std::int64_t>::max())));
        }
        has_shape = true;
      } else if (field == "data_offsets") {
        const std::vector<std::uint64_t> offsets = Numbers();
        if (offsets.size() != 2) return Complain(fmt::format("\"{}\" needs two offsets", key));
        range.begin = offsets[0];
        range.end = offsets[1];
        has_range = true;
      } else {
        return Complain(fmt::format("\"{}\" has an unknown key \"{}\"", key, field));
      }
      if (!error_.empty()) return;
    } while (Take(','));
    if (!Take('}')) return Complain(fmt::format("\"{}\" does not end", key));
    if (!has_type || !has_shape || !has_range) {
      return Complain(fmt::format("\"{}\" must have dtype, shape and data_offsets", key));
    }
    CheckTensor(tensor, range);
    tensors_.push_back(std::move(tensor));
    ranges_.push_back(range);
  }

  void CheckTensor(const StoredTensor& tensor, const Range& range) {
    const auto* type = std::ranges::find(kTypes, tensor.dtype, &StoredType::name);
    if (type == std::end(kTypes)) {
      return Complain(
          fmt::format("\"{}\" is of the unknown type \"{}\"", tensor.name, tensor.dtype));
    }
    if (range.begin > range.end || range.end > data_bytes_) {
      return Complain(fmt::format("\"{}\" lies at bytes {} to {} of {}", tensor.name, range.begin,
                                  range.end, data_bytes_));
    }
    const std::int64_t bits = Product(tensor.Elements(), type->bits);
    const std::uint64_t stored = range.end - range.begin;
    if (bits == std::numeric_limits<std::int64_t>::max() ||
        static_cast<std::uint64_t>(bits) != 8 * stored) {
      Complain(fmt::format("\"{}\" has {} bytes, which its shape and type do not make", tensor.name,
                           stored));
    }
  }

  void CheckRanges() {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    for (const StoredTensor& tensor : tensors_) names.push_back(tensor.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) return Complain(fmt::format("\"{}\" is there twice", *twice));
    std::ranges::sort(ranges_, {}, [](const Range& r) { return std::pair(r.begin, r.end); });
    std::uint64_t end = 0;
    for (const Range& range : ranges_) {
      if (range.begin < end) {
        return Complain(
            fmt::format("\"{}\" overlaps the tensor before it", tensors_[range.tensor].name));
      }
      end = range.end;
    }
  }

  void SkipMetadata() {
    if (!Take('{')) return Complain("\"__metadata__\" must be an object");
    if (Take('}')) return;
    do {
      Text();
      if (!Take(':')) return Complain("a colon is expected");
      Text();
      if (!error_.empty()) return;
    } while (Take(','));
    if (!Take('}')) Complain("\"__metadata__\" does not end");
  }

  void Spaces() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool Peek(char wanted) {
    Spaces();
    return at_ < text_.size() && text_[at_] == wanted;
  }

  bool Take(char wanted) {
    if (!Peek(wanted)) return false;
    ++at_;
    return true;
  }

  // A string. Escapes are kept as they are written: names of tensors have none.
  std::string Text() {
    if (!Take('"')) {
      Complain("a string is expected");
      return "";
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      Complain("a string does not end");
      return "";
    }
    return std::string(text_.substr(begin, at_++ - begin));
  }

  std::vector<std::uint64_t> Numbers() {
    std::vector<std::uint64_t> numbers;
    if (!Take('[')) {
      Complain("a list is expected");
      return numbers;
    }
    if (Take(']')) return numbers;
    do {
      Spaces();
      std::uint64_t number = 0;
      const char* end = text_.data() + text_.size();
      const auto read = std::from_chars(text_.data() + at_, end, number);
      if (read.ec != std::errc() || numbers.size() == kMostDimensions) {
        Complain("a list of a few whole numbers is expected");
        return numbers;
      }
      at_ = static_cast<std::size_t>(read.ptr - text_.data());
      numbers.push_back(number);
    } while (Take(','));
    if (!Take(']')) Complain("a list does not end");
    return numbers;
  }

  void Complain(std::string what) {
    if (error_.empty()) error_ = fmt::format("byte {} of the header: {}", at_, what);
  }

  const std::string& name_;
  std::string_view text_;
  std::uint64_t data_bytes_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<StoredTensor> tensors_;
  std::vector<Range> ranges_;
};

}  // namespace

std::int64_t StoredTensor::Elements() const {
  std::int64_t elements = 1;
  // A zero wins whatever the other sizes are.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const std::int64_t size : shape) elements = Product(elements, size);
  return elements;
}

Expected<std::uint64_t> SafetensorsHeaderLength(const std::string& name, std::string_view head,
                                                std::uint64_t file_bytes) {
  if (head.size() < 8) {
    return Fail(Bad(name, fmt::format("{} bytes are no safetensors file", head.size())));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(head[i])) << (8 * i);
  }
  if (length > file_bytes - 8 || length > kLongestSafetensorsHeader) {
    return Fail(
        Bad(name, fmt::format("its first 8 bytes say that the header has {} bytes; the file "
                              "has {}, and {} are the most",
                              length, file_bytes, kLongestSafetensorsHeader)));
  }
  return length;
}

Expected<std::vector<StoredTensor>> ParseSafetensors(const std::string& name, std::string_view head,
                                                     std::uint64_t file_bytes) {
  ASSIGN_OR_RETURN(const std::uint64_t length, SafetensorsHeaderLength(name, head, file_bytes));
  if (head.size() - 8 < length) return Fail(Bad(name, "the header is cut off"));
  return Header(name, head.substr(8, length), file_bytes - 8 - length).Parse();
}

}  // namespace trainfit::readers
