// Writes JSON text: keys in the order of the calls, numbers that read back unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace trainfit {

// A push writer. `indent` 0 writes one line. Misuse (a value without a key in an object, an
// unclosed scope at Take) is a programmer's mistake and fails a CHECK.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);

  // Invalid UTF-8 in a string is replaced by U+FFFD, byte by byte.
  JsonWriter& String(std::string_view value);
  JsonWriter& Int(std::int64_t value);
  // Shortest text that reads back as the same double; NaN and infinity are a CHECK failure.
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  JsonWriter& Field(std::string_view key, std::string_view v) { return Key(key).String(v); }
  JsonWriter& Field(std::string_view key, const char* v) { return Key(key).String(v); }
  JsonWriter& Field(std::string_view key, std::int64_t v) { return Key(key).Int(v); }
  JsonWriter& Field(std::string_view key, int v) { return Key(key).Int(v); }
  JsonWriter& Field(std::string_view key, double v) { return Key(key).Double(v); }
  JsonWriter& Field(std::string_view key, bool v) { return Key(key).Bool(v); }
  JsonWriter& Field(std::string_view key, Bytes v) { return Key(key).Int(v.value()); }

  // The finished text, ended by a newline when indented.
  std::string Take();

 private:
  void BeforeValue();
  void NewLine();

  struct Scope {
    bool is_object;
    bool is_empty;
  };
  int indent_;
  bool have_key_ = false;
  std::vector<Scope> scopes_;
  std::string text_;
};

}  // namespace trainfit
