#include "config/python_calls.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/numeral.h"
#include "base/text.h"
#include "config/text_problems.h"

namespace trainfit::config {
namespace {

enum class TokenKind { kName, kNumber, kString, kSign, kNewLine };

struct Token {
  TokenKind kind = TokenKind::kSign;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;      // of a string: its value
  bool is_plain = true;  // of a string: not an f-string
};

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

constexpr std::size_t kMaxTokens = 1'000'000;

// Splits the text; brackets hide line ends, as in Python.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  // False: a string is not closed; failed_at() says where it began.
  bool Run() {
    while (at_ < text_.size() && tokens_.size() < kMaxTokens) {
      const char c = text_[at_];
      if (c == '\n') {
        if (depth_ == 0) Add(TokenKind::kNewLine, at_, at_ + 1);
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (const std::size_t prefix = StringPrefix(); prefix != std::string_view::npos) {
        if (!ReadString(prefix)) return false;
      } else if (IsNameStart(c)) {
        ReadWhile(TokenKind::kName, [](char d) { return IsNamePart(d) || d == '.'; });
      } else if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
        ReadNumber();
      } else {
        if (c == '(' || c == '[' || c == '{') ++depth_;
        if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
        Add(TokenKind::kSign, at_, at_ + 1);
        ++at_;
      }
    }
    return true;
  }

  std::size_t failed_at() const { return failed_at_; }
  std::vector<Token>& tokens() { return tokens_; }

 private:
  void Add(TokenKind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({kind, begin, end, std::string(text_.substr(begin, end - begin)), true});
  }

  template <typename Accepts>
  void ReadWhile(TokenKind kind, Accepts accepts) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && accepts(text_[at_])) ++at_;
    Add(kind, begin, at_);
  }

  void ReadNumber() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (IsNamePart(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') &&
                                   (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))) {
      ++at_;
    }
    Add(TokenKind::kNumber, begin, at_);
  }

  // Letters before the quote of a string that begins here; npos: none does.
  std::size_t StringPrefix() const {
    std::size_t quote = at_;
    while (quote < text_.size() && quote - at_ < 2 &&
           std::string_view("rRbBuUfF").find(text_[quote]) != std::string_view::npos) {
      ++quote;
    }
    const bool is_string = quote < text_.size() && (text_[quote] == '"' || text_[quote] == '\'');
    return is_string ? quote - at_ : std::string_view::npos;
  }

  bool ReadString(std::size_t prefix) {
    const std::size_t begin = at_;
    const std::string_view letters = text_.substr(at_, prefix);
    std::size_t at = begin + prefix;
    const char quote = text_[at];
    const std::string triple(3, quote);
    const bool is_triple = text_.substr(at, 3) == triple;
    at += is_triple ? 3 : 1;
    std::string value;
    while (true) {
      const bool is_over = at >= text_.size() || (!is_triple && text_[at] == '\n');
      if (is_over) {
        failed_at_ = begin;
        return false;
      }
      if (is_triple ? text_.substr(at, 3) == triple : text_[at] == quote) break;
      if (text_[at] == '\\' && at + 1 < text_.size()) ++at;
      value += text_[at++];
    }
    at_ = at + (is_triple ? 3 : 1);
    Token token{TokenKind::kString, begin, at_, std::move(value),
                letters.find_first_of("fF") == std::string_view::npos};
    tokens_.push_back(std::move(token));
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::size_t failed_at_ = 0;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  Parser(std::shared_ptr<const Document> document, std::vector<Token> tokens, int max_depth)
      : document_(std::move(document)), tokens_(std::move(tokens)), max_depth_(max_depth) {}

  std::vector<PythonCall> Run() {
    while (at_ < tokens_.size()) {
      if (Is(TokenKind::kName) && IsSign(at_ + 1, '=') && !IsSign(at_ + 2, '=')) {
        Assign();
      } else if (Is(TokenKind::kName) && IsSign(at_ + 1, '(')) {
        ReadCall(0);
      } else {
        ++at_;
      }
    }
    return std::move(calls_);
  }

 private:
  bool Is(TokenKind kind) const { return at_ < tokens_.size() && tokens_[at_].kind == kind; }
  bool IsSign(std::size_t at, char sign) const {
    return at < tokens_.size() && tokens_[at].kind == TokenKind::kSign &&
           tokens_[at].text[0] == sign;
  }

  Node NodeOf(NodeKind kind, std::size_t first, std::size_t last) const {
    Node node;
    node.kind = kind;
    node.document = document_;
    node.begin = static_cast<std::uint32_t>(tokens_[first].begin);
    node.end = static_cast<std::uint32_t>(tokens_[last].end);
    return node;
  }

  void Assign() {
    const std::string name = tokens_[at_].text;
    at_ += 2;
    const std::size_t begin = at_;
    std::optional<Node> value = Literal(0);
    const bool is_whole =
        at_ >= tokens_.size() || tokens_[at_].kind == TokenKind::kNewLine || IsSign(at_, ';');
    if (value && is_whole) {
      values_[name] = std::move(*value);
    } else {
      values_.erase(name);
      at_ = begin;  // calls in it are found by going on
    }
  }

  // A literal at the current place, which moves behind it. nullopt: something else stands there.
  std::optional<Node> Literal(int depth) {
    if (at_ >= tokens_.size() || depth > max_depth_) return std::nullopt;
    const Token& token = tokens_[at_];
    switch (token.kind) {
      case TokenKind::kString:
        return String();
      case TokenKind::kNumber:
        return Number(false);
      case TokenKind::kName:
        return Name();
      case TokenKind::kSign:
        if (token.text == "-" && at_ + 1 < tokens_.size() &&
            tokens_[at_ + 1].kind == TokenKind::kNumber) {
          ++at_;
          return Number(true);
        }
        if (token.text == "[" || token.text == "(") return List(depth);
        if (token.text == "{") return Dictionary(depth);
        return std::nullopt;
      case TokenKind::kNewLine:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Node> String() {
    Node node = NodeOf(NodeKind::kString, at_, at_);
    // Neighbouring strings are one.
    while (Is(TokenKind::kString)) {
      if (!tokens_[at_].is_plain) return std::nullopt;
      node.text += tokens_[at_].text;
      node.end = static_cast<std::uint32_t>(tokens_[at_].end);
      ++at_;
    }
    return node;
  }

  std::optional<Node> Number(bool is_negative) {
    Node node = NodeOf(NodeKind::kInt, at_, at_);
    std::string digits = is_negative ? "-" + tokens_[at_].text : tokens_[at_].text;
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (digits.ends_with('.')) digits += '0';
    node.text = digits;
    if (const auto whole = ParseInteger(digits)) {
      node.integer = *whole;
      node.real = static_cast<double>(*whole);
    } else if (const auto real = ParseDecimal(digits)) {
      node.kind = NodeKind::kDouble;
      node.real = *real;
    } else {
      return std::nullopt;
    }
    ++at_;
    return node;
  }

  std::optional<Node> Name() {
    const std::string& name = tokens_[at_].text;
    Node node = NodeOf(NodeKind::kBool, at_, at_);
    if (name == "True" || name == "False") {
      node.boolean = name == "True";
    } else if (name == "None") {
      node.kind = NodeKind::kNull;
    } else if (name.starts_with("torch.") && !IsSign(at_ + 1, '(')) {
      node.kind = NodeKind::kString;
      node.text = name;
    } else if (const auto found = values_.find(name); found != values_.end()) {
      node = found->second;
    } else {
      return std::nullopt;
    }
    ++at_;
    return node;
  }

  std::optional<Node> List(int depth) {
    const std::size_t first = at_;
    const char close = tokens_[at_].text == "[" ? ']' : ')';
    ++at_;
    Node node = NodeOf(NodeKind::kArray, first, first);
    while (at_ < tokens_.size() && !IsSign(at_, close)) {
      std::optional<Node> item = Literal(depth + 1);
      if (!item) return std::nullopt;
      node.items.push_back(std::move(*item));
      if (IsSign(at_, ',')) {
        ++at_;
      } else if (!IsSign(at_, close)) {
        return std::nullopt;
      }
    }
    if (at_ >= tokens_.size()) return std::nullopt;
    node.end = static_cast<std::uint32_t>(tokens_[at_].end);
    ++at_;
    // One value in brackets is that value.
    if (close == ')' && node.items.size() == 1) return node.items[0];
    return node;
  }

  std::optional<Node> Dictionary(int depth) {
    const std::size_t first = at_++;
    Node node = NodeOf(NodeKind::kObject, first, first);
    while (at_ < tokens_.size() && !IsSign(at_, '}')) {
      if (!Is(TokenKind::kString)) return std::nullopt;
      const Token key = tokens_[at_];
      ++at_;
      if (!IsSign(at_, ':')) return std::nullopt;
      ++at_;
      std::optional<Node> value = Literal(depth + 1);
      if (!value) return std::nullopt;
      node.members.push_back({key.text, static_cast<std::uint32_t>(key.begin),
                              static_cast<std::uint32_t>(key.end), std::move(*value)});
      if (IsSign(at_, ',')) {
        ++at_;
      } else if (!IsSign(at_, '}')) {
        return std::nullopt;
      }
    }
    if (at_ >= tokens_.size()) return std::nullopt;
    node.end = static_cast<std::uint32_t>(tokens_[at_].end);
    ++at_;
    return node;
  }

  // name(…): its arguments; calls inside them are calls of their own.
  void ReadCall(int depth) {
    PythonCall call;
    call.callee = tokens_[at_].text;
    call.arguments = NodeOf(NodeKind::kObject, at_, at_);
    at_ += 2;
    bool is_first = true;
    while (at_ < tokens_.size() && !IsSign(at_, ')')) {
      const bool is_keyword = Is(TokenKind::kName) && IsSign(at_ + 1, '=') && !IsSign(at_ + 2, '=');
      const std::size_t key_at = at_;
      if (is_keyword) at_ += 2;
      const std::size_t begin = at_;
      std::optional<Node> value = Literal(0);
      const bool is_whole = value && (IsSign(at_, ',') || IsSign(at_, ')'));
      if (is_keyword) {
        const Token& key = tokens_[key_at];
        Member member{key.text, static_cast<std::uint32_t>(key.begin),
                      static_cast<std::uint32_t>(key.end), Node()};
        if (is_whole) member.value = std::move(*value);
        (is_whole ? call.arguments.members : call.code).push_back(std::move(member));
      } else if (is_first && is_whole && value->kind == NodeKind::kString) {
        call.first = std::move(*value);
      }
      is_first = false;
      if (!is_whole) {
        at_ = begin;
        SkipExpression(depth);
      }
      if (IsSign(at_, ',')) ++at_;
    }
    ++at_;
    calls_.push_back(std::move(call));
  }

  // To the next comma or bracket of this level.
  void SkipExpression(int depth) {
    int open = 0;
    while (at_ < tokens_.size()) {
      if (open == 0 && (IsSign(at_, ',') || IsSign(at_, ')'))) return;
      const bool is_call = Is(TokenKind::kName) && IsSign(at_ + 1, '(');
      if (is_call && depth < max_depth_) {
        ReadCall(depth + 1);
        continue;
      }
      const char sign = tokens_[at_].kind == TokenKind::kSign ? tokens_[at_].text[0] : ' ';
      if (sign == '(' || sign == '[' || sign == '{') ++open;
      if (sign == ')' || sign == ']' || sign == '}') --open;
      ++at_;
      if (open < 0) return;
    }
  }

  const std::shared_ptr<const Document> document_;
  const std::vector<Token> tokens_;
  const int max_depth_;
  std::size_t at_ = 0;
  std::map<std::string, Node> values_;
  std::vector<PythonCall> calls_;
};

}  // namespace

Expected<std::vector<PythonCall>> ParsePythonCalls(std::string name, std::string text,
                                                   const ReadLimits& limits) {
  if (auto problem = CheckWholeText(name, text, limits)) return Fail(std::move(*problem));
  const std::size_t invalid = FindInvalidUtf8(text);
  if (invalid != std::string::npos) {
    return Fail(ErrorAt(SpanInText(name, text, invalid, invalid + 1), "not-utf-8",
                        "this byte is no UTF-8: the file is of another kind"));
  }
  auto document = std::make_shared<Document>();
  document->name = std::move(name);
  document->text = std::move(text);
  Tokenizer tokenizer(document->text);
  if (!tokenizer.Run()) {
    const std::size_t at = tokenizer.failed_at();
    return Fail(ErrorAt(SpanInText(document->name, document->text, at, at + 1), "open-quote",
                        "this string is not closed"));
  }
  return Parser(document, std::move(tokenizer.tokens()), limits.max_depth).Run();
}

}  // namespace trainfit::config
