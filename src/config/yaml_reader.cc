#include "config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <memory>
#include <optional>
#include <streambuf>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "config/text_problems.h"
#include "config/yaml_tree.h"

namespace trainfit::config {
namespace {

// The text as a stream, in pieces, that ends as soon as the tree builder is over a limit: the
// parser has no other way of being told that the rest does not matter.
class StoppableText : public std::streambuf {
 public:
  StoppableText(std::string_view text, const YamlTreeBuilder* builder)
      : text_(text), builder_(builder) {}

 protected:
  int_type underflow() override {
    constexpr std::size_t kPiece = 2048;  // as much as the parser asks for at a time
    if (at_ == text_.size() || builder_->is_over_limit()) return traits_type::eof();
    const std::size_t length = std::min(kPiece, text_.size() - at_);
    char* const begin = const_cast<char*>(text_.data()) + at_;  // only read from
    setg(begin, begin, begin + length);
    at_ += length;
    return traits_type::to_int_type(*begin);
  }

 private:
  const std::string_view text_;
  const YamlTreeBuilder* const builder_;
  std::size_t at_ = 0;
};

std::size_t PlaceOf(const YAML::Mark& mark) {
  return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
}

// Hands the parser's events on; a second document is one too many.
class EventForwarder : public YAML::EventHandler {
 public:
  EventForwarder(std::string_view text, YamlTreeBuilder* builder)
      : text_(text), builder_(builder) {}

  int documents() const { return documents_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ < 2 || builder_->is_stopped()) return;
    const std::size_t at = PlaceOf(mark);
    const std::string_view rest = text_.substr(std::min(at, text_.size()));
    if (rest.starts_with("---") || rest.starts_with('%')) {
      builder_->Stop(at, at + 3, "second-document", "a second document begins here; one is read",
                     "a file of its own for each");
    } else {
      builder_->Stop(at, at + 1, "yaml-syntax", "text after the end of the document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_->Null(PlaceOf(mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_->Alias(PlaceOf(mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    builder_->Scalar(PlaceOf(mark), tag, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    builder_->Begin(NodeKind::kArray, PlaceOf(mark), tag, anchor);
  }
  void OnSequenceEnd() override { builder_->End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    builder_->Begin(NodeKind::kObject, PlaceOf(mark), tag, anchor);
  }
  void OnMapEnd() override { builder_->End(); }

 private:
  const std::string_view text_;
  YamlTreeBuilder* const builder_;
  int documents_ = 0;
};

// The parser's words (yaml-cpp/exceptions.h, whose constants are none at compile time) and ours.
struct Translation {
  std::string_view theirs;  // how its message begins
  std::string_view ours;
  std::string_view suggestion;
};
constexpr Translation kTranslations[] = {
    {"illegal map value", "a ':' where no key can stand",
     "quotes around a value that contains ': ', or this line indented like its neighbours"},
    {"illegal map key", "a key cannot stand here", ""},
    {"illegal block entry", "a '- ' item cannot stand here",
     "a line of its own for each item, all indented alike"},
    {"illegal tab when looking for indentation", "a tab cannot indent", "spaces"},
    {"end of map flow not found", "a '{' is not closed", ""},
    {"end of sequence flow not found", "a '[' is not closed", ""},
    {"end of map not found", "this line fits no mapping above",
     "the same indentation for all keys of a mapping, and ': ' behind each"},
    {"end of sequence not found", "this line fits no list above",
     "the same indentation for all items of a list"},
    {"illegal flow end", "this bracket closes nothing", ""},
    {"illegal EOF in scalar", "the quote is not closed", ""},
    {"illegal document indicator in scalar", "the quote is not closed", ""},
    {"unknown token", "a value cannot begin with this character", "quotes around the value"},
    {"the referenced anchor is not defined", "the alias names no anchor above", ""},
    {"unknown escape character: ", "an escape that means nothing in a string",
     "two backslashes, if one is meant"},
    {"bad file", "nested too deep", ""},
};

Diagnostic Translate(const Document& document, std::size_t at, const std::string& theirs) {
  const std::string_view text = document.text;
  // At the end of the text the caret goes behind the last thing written.
  if (at >= text.size()) at = text.find_last_not_of(" \t\r\n") + 1;
  Diagnostic problem = ErrorAt(SpanInText(document.name, text, at, at), "yaml-syntax", theirs);
  for (const Translation& translation : kTranslations) {
    if (!std::string_view(theirs).starts_with(translation.theirs)) continue;
    problem.message = std::string(translation.ours);
    problem.suggestion = std::string(translation.suggestion);
    break;
  }
  // Whatever the parser made of it, a tab in the indentation is the reason.
  const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const std::size_t first = std::min(text.find_first_not_of(" \t", line), text.size());
  const std::size_t tab = text.find('\t', line);
  if (tab < first) {
    problem.span = SpanInText(document.name, text, tab, tab + 1);
    problem.message = "a tab cannot indent";
    problem.suggestion = "spaces";
  }
  return problem;
}

// Bytes that the parser would take, but with other positions or another meaning.
std::optional<Diagnostic> CheckBytes(const Document& document) {
  const std::string_view text = document.text;
  if (const std::size_t at = FindInvalidUtf8(text); at != std::string_view::npos) {
    const auto byte = static_cast<unsigned>(static_cast<unsigned char>(text[at]));
    return ErrorAt(SpanInText(document.name, text, at, at + 1), "not-utf8",
                   fmt::format("byte 0x{:02x} is not UTF-8", byte), "save the file as UTF-8");
  }
  const auto is_control = [](char c) {
    return (c >= '\0' && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7F';
  };
  const auto it = std::find_if(text.begin(), text.end(), is_control);
  if (it == text.end()) return std::nullopt;
  const std::size_t at = static_cast<std::size_t>(it - text.begin());
  return ErrorAt(SpanInText(document.name, text, at, at + 1), "yaml-syntax",
                 fmt::format("a control character (0x{:02x})", static_cast<unsigned>(*it)),
                 "an escape in double quotes");
}

}  // namespace

Expected<Node> ParseYaml(std::string name, std::string text, const ReadLimits& limits) {
  ReadLimits used = limits;
  used.max_bytes = std::min(used.max_bytes, kMaxYamlBytes);
  if (std::optional<Diagnostic> problem = CheckWholeText(name, text, used)) {
    return Fail(*std::move(problem));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  const auto document =
      std::make_shared<const Document>(Document{std::move(name), std::move(text)});
  if (auto problem = FindOtherFormat(*document, "YAML")) return Fail(*std::move(problem));
  if (auto problem = CheckBytes(*document)) return Fail(*std::move(problem));

  YamlTreeBuilder builder(document, used);
  EventForwarder events(document->text, &builder);
  StoppableText pieces(document->text, &builder);
  std::istream input(&pieces);
  try {
    YAML::Parser parser(input);
    // A second document is an error already; and before some stray tokens the parser would return
    // empty documents for ever.
    while (events.documents() < 2 && !builder.is_over_limit() &&
           parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& error) {
    const bool is_open_bracket = error.msg == "end of map flow not found" ||
                                 error.msg == "end of sequence flow not found" ||
                                 error.msg == "bad file";  // more of them than it can hold
    Diagnostic problem = Translate(*document, PlaceOf(error.mark), error.msg);
    if (is_open_bracket) {
      builder.StopAtOpenBracket(std::move(problem));
    } else if (!builder.is_stopped()) {
      builder.Stop(std::move(problem));
    }
  } catch (const std::exception& error) {
    if (!builder.is_stopped()) builder.Stop(Translate(*document, 0, error.what()));
  }
  return builder.Finish();
}

}  // namespace trainfit::config
