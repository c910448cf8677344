#include "config/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "config/json_diagnosis.h"
#include "config/text_problems.h"

namespace trainfit::config {
namespace {

// An input iterator that tells how many bytes were read. The parser copies its iterators, so the
// count lives outside.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(std::string_view::const_iterator at, std::size_t* count)
      : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  std::string_view::const_iterator at_;
  std::size_t* count_;
};

// A NaN, Infinity or -Infinity in the text.
struct NonFinite {
  std::size_t begin = 0;
  double value = 0;
};

// Finds the non-finite numbers of Python's JSON outside strings, and overwrites each in `text` with
// a number of the same length, so that the parser takes it and every position stays.
std::vector<NonFinite> HideNonFinite(std::string* text) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::pair<std::string_view, double> kWords[] = {
      {"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", kInf}, {"-Infinity", -kInf}};
  std::vector<NonFinite> found;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '"') is_in_string = !is_in_string;
    if (c == '\\') ++i;  // outside strings it is an error, whatever follows
    if (is_in_string || (c != 'N' && c != 'I' && c != '-')) continue;
    const bool begins =
        i == 0 || std::string_view(" \t\r\n,:[").find((*text)[i - 1]) != std::string_view::npos;
    for (const auto& [word, value] : kWords) {
      const std::string_view rest = std::string_view(*text).substr(i);
      if (!begins || !rest.starts_with(word)) continue;
      const std::size_t end = i + word.size();
      const bool ends = end == text->size() ||
                        std::string_view(" \t\r\n,]}").find((*text)[end]) != std::string_view::npos;
      if (!ends) continue;
      found.push_back({i, value});
      text->replace(i, word.size(), word.size(), '1');
      break;
    }
  }
  return found;
}

// Builds the tree from the parser's events. Returning false stops the parser.
class TreeBuilder {
 public:
  TreeBuilder(std::shared_ptr<const Document> document, const ReadLimits& limits,
              std::vector<NonFinite> non_finite, const std::size_t* bytes_read)
      : document_(std::move(document)),
        limits_(limits),
        non_finite_(std::move(non_finite)),
        bytes_read_(bytes_read) {}

  bool null() { return AddValue(Token(NodeKind::kNull)); }
  bool boolean(bool value) {
    Node node = Token(NodeKind::kBool);
    node.boolean = value;
    return AddValue(std::move(node));
  }
  bool number_integer(std::int64_t value) {
    return AddNumber(NodeKind::kInt, value, static_cast<double>(value));
  }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return AddNumber(NodeKind::kDouble, 0, static_cast<double>(value));
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    return AddNumber(NodeKind::kDouble, 0, value);
  }
  bool string(std::string& value) {
    Node node = Token(NodeKind::kString);
    node.text = std::move(value);
    return AddValue(std::move(node));
  }
  template <typename Binary>
  bool binary(Binary&) {
    return false;  // not in JSON text
  }

  bool start_object(std::size_t) { return Open(NodeKind::kObject); }
  bool start_array(std::size_t) { return Open(NodeKind::kArray); }
  bool key(std::string& value);
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  // `error` carries the parser's own words; ours are made from the place.
  template <typename ParserError>
  bool parse_error(std::size_t, const std::string&, const ParserError&) {
    JsonStop stop{.accepted = accepted_, .end = last_end_};
    if (!open_.empty()) {
      stop.is_in_object = open_.back().kind == NodeKind::kObject;
      stop.opened_at = open_.back().begin;
    }
    problems_.push_back(DiagnoseJson(*document_, stop));
    return false;
  }

  Expected<Node> Finish(bool is_complete) {
    CHECK(is_complete || !problems_.empty()) << "a parser that stops says why";
    if (problems_.empty()) return std::move(root_);
    std::sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.span.line, a.span.column) < std::pair(b.span.line, b.span.column);
    });
    return Fail(std::move(problems_));
  }

 private:
  struct PendingKey {
    std::string text;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  // Begin of the token that was just read: only white space, a comma or a colon lie between it and
  // the one before.
  std::uint32_t TokenBegin() const {
    const std::size_t at = document_->text.find_first_not_of(" \t\r\n,:", last_end_);
    return static_cast<std::uint32_t>(std::min(at, document_->text.size()));
  }

  // A node for the token that was just read.
  Node Token(NodeKind kind) const {
    Node node;
    node.kind = kind;
    node.document = document_;
    node.begin = TokenBegin();
    node.end = static_cast<std::uint32_t>(*bytes_read_);
    return node;
  }

  bool AddNumber(NodeKind kind, std::int64_t integer, double real);
  bool AddValue(Node node);
  bool Open(NodeKind kind);
  bool Close();
  bool Stop(std::size_t at, std::string code, std::string message) {
    problems_.push_back(ErrorAt(SpanInText(document_->name, document_->text, at, at + 1),
                                std::move(code), std::move(message)));
    return false;
  }

  const std::shared_ptr<const Document> document_;
  const ReadLimits limits_;
  const std::vector<NonFinite> non_finite_;
  const std::size_t* const bytes_read_;

  std::vector<Node> open_;  // the containers around the current token, outermost first
  std::vector<PendingKey> keys_;
  Node root_;
  std::size_t values_ = 0;
  std::size_t last_end_ = 0;
  JsonAccepted accepted_ = JsonAccepted::kNothing;
  Diagnostics problems_;
};

bool TreeBuilder::AddNumber(NodeKind kind, std::int64_t integer, double real) {
  Node node = Token(kind);
  node.integer = integer;
  node.real = real;
  // The parser reads one byte beyond a number, so its end comes from the text.
  node.end = static_cast<std::uint32_t>(JsonNumberEnd(document_->text, node.begin));
  const auto hidden =
      std::lower_bound(non_finite_.begin(), non_finite_.end(), node.begin,
                       [](const NonFinite& n, std::size_t begin) { return n.begin < begin; });
  if (hidden != non_finite_.end() && hidden->begin == node.begin) {
    node.kind = NodeKind::kDouble;
    node.integer = 0;
    node.real = hidden->value;
    node.end = static_cast<std::uint32_t>(
        std::min(document_->text.find_first_of(" \t\r\n,]}", node.begin), document_->text.size()));
  }
  node.text = document_->text.substr(node.begin, node.end - node.begin);
  return AddValue(std::move(node));
}

bool TreeBuilder::AddValue(Node node) {
  last_end_ = node.end;
  if (++values_ > limits_.max_values) {
    return Stop(node.begin, "too-large", fmt::format("more than {} values", limits_.max_values));
  }
  if (open_.empty()) {
    accepted_ = JsonAccepted::kWholeText;
    root_ = std::move(node);
    return true;
  }
  accepted_ = JsonAccepted::kValue;
  Node& parent = open_.back();
  if (parent.kind == NodeKind::kArray) {
    parent.items.push_back(std::move(node));
    return true;
  }
  PendingKey& key = keys_.back();
  parent.members.push_back({std::move(key.text), key.begin, key.end, std::move(node)});
  keys_.pop_back();
  return true;
}

bool TreeBuilder::Open(NodeKind kind) {
  Node node = Token(kind);
  if (open_.size() >= static_cast<std::size_t>(std::max(0, limits_.max_depth))) {
    return Stop(node.begin, "too-deep",
                fmt::format("nested more than {} levels deep", limits_.max_depth));
  }
  last_end_ = node.end;
  accepted_ = kind == NodeKind::kObject ? JsonAccepted::kObjectBegin : JsonAccepted::kArrayBegin;
  open_.push_back(std::move(node));
  return true;
}

bool TreeBuilder::key(std::string& value) {
  PendingKey key{std::move(value), TokenBegin(), static_cast<std::uint32_t>(*bytes_read_)};
  last_end_ = key.end;
  accepted_ = JsonAccepted::kKey;
  keys_.push_back(std::move(key));
  return true;
}

bool TreeBuilder::Close() {
  Node node = std::move(open_.back());
  open_.pop_back();
  node.end = static_cast<std::uint32_t>(*bytes_read_);
  if (node.kind == NodeKind::kObject) AppendDuplicateKeys(node, &problems_);
  return AddValue(std::move(node));
}

}  // namespace

Expected<Node> ParseJson(std::string name, std::string text, const ReadLimits& limits) {
  if (std::optional<Diagnostic> problem = CheckWholeText(name, text, limits)) {
    return Fail(*std::move(problem));
  }
  // Without the mark, columns of the first line are what an editor shows.
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);

  const auto document =
      std::make_shared<const Document>(Document{std::move(name), std::move(text)});
  std::string altered;
  std::vector<NonFinite> non_finite;
  std::string_view input = document->text;
  if (limits.allow_non_finite) {
    altered = document->text;
    non_finite = HideNonFinite(&altered);
    input = altered;
  }
  std::size_t bytes_read = 0;
  TreeBuilder builder(document, limits, std::move(non_finite), &bytes_read);
  const CountingIterator begin(input.begin(), &bytes_read);
  const CountingIterator end(input.end(), &bytes_read);
  const bool is_complete = nlohmann::json::sax_parse(begin, end, &builder);
  return builder.Finish(is_complete);
}

}  // namespace trainfit::config
