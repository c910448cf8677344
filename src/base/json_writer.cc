#include "base/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace trainfit {
namespace {

void AppendQuoted(std::string_view value, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (std::size_t i = 0; i < value.size();) {
    const CodePoint c = DecodeUtf8(value, i);
    if (!c.valid) {
      *out += "\xEF\xBF\xBD";  // U+FFFD
    } else if (c.value == '"' || c.value == '\\') {
      *out += '\\';
      *out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      *out += "\\n";
    } else if (c.value == '\t') {
      *out += "\\t";
    } else if (c.value == '\r') {
      *out += "\\r";
    } else if (c.value < 0x20 || c.value == 0x7F) {
      *out += "\\u00";
      *out += kHex[c.value >> 4];
      *out += kHex[c.value & 0xF];
    } else {
      out->append(value.substr(i, c.length));
    }
    i += c.length;
  }
  *out += '"';
}

}  // namespace

void JsonWriter::NewLine() {
  if (indent_ == 0) return;
  text_ += '\n';
  text_.append(scopes_.size() * indent_, ' ');
}

void JsonWriter::BeforeValue() {
  if (scopes_.empty()) {
    CHECK(text_.empty()) << "a JSON text holds one value";
    return;
  }
  Scope& scope = scopes_.back();
  if (scope.is_object) {
    CHECK(have_key_) << "a value in a JSON object needs a key";
    have_key_ = false;
    return;
  }
  if (!scope.is_empty) text_ += ',';
  scope.is_empty = false;
  NewLine();
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  CHECK(!scopes_.empty() && scopes_.back().is_object) << "a JSON key outside an object";
  CHECK(!have_key_) << "a JSON key after a key";
  Scope& scope = scopes_.back();
  if (!scope.is_empty) text_ += ',';
  scope.is_empty = false;
  NewLine();
  AppendQuoted(key, &text_);
  text_ += indent_ == 0 ? ":" : ": ";
  have_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginObject() {
  BeforeValue();
  text_ += '{';
  scopes_.push_back({.is_object = true, .is_empty = true});
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  CHECK(!scopes_.empty() && scopes_.back().is_object && !have_key_) << "no JSON object to end";
  const bool is_empty = scopes_.back().is_empty;
  scopes_.pop_back();
  if (!is_empty) NewLine();
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeforeValue();
  text_ += '[';
  scopes_.push_back({.is_object = false, .is_empty = true});
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  CHECK(!scopes_.empty() && !scopes_.back().is_object) << "no JSON array to end";
  const bool is_empty = scopes_.back().is_empty;
  scopes_.pop_back();
  if (!is_empty) NewLine();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view value) {
  BeforeValue();
  AppendQuoted(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Int(std::int64_t value) {
  BeforeValue();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  CHECK(std::isfinite(value)) << "JSON has no number for NaN and infinity";
  BeforeValue();
  if (value == 0 && std::signbit(value)) {
    text_ += "-0.0";  // readers take "-0" for the integer 0
    return *this;
  }
  char buffer[32];
  const auto result = std::to_chars(std::begin(buffer), std::end(buffer), value);
  text_.append(buffer, result.ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_ += "null";
  return *this;
}

std::string JsonWriter::Take() {
  CHECK(scopes_.empty() && !text_.empty()) << "the JSON text is not finished";
  if (indent_ != 0) text_ += '\n';
  return std::exchange(text_, {});
}

}  // namespace trainfit
