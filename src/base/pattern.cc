#include "base/pattern.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <utility>

namespace trainfit {

// One of: characters, an anchor, a sequence, alternatives, a repetition.
struct Pattern::Node {
  enum class Kind : std::uint8_t { kSet, kBegin, kEnd, kSequence, kEither, kRepeat };
  Kind kind = Kind::kSequence;
  std::vector<bool> set;  // kSet: 256 flags
  std::vector<std::shared_ptr<const Node>> children;
  int least = 0;
  int most = 0;
};

namespace {

using Node = Pattern::Node;
using NodePointer = std::shared_ptr<const Node>;
using Kind = Node::Kind;

constexpr int kForever = std::numeric_limits<int>::max();
constexpr int kDeepest = 50;
constexpr int kMostRepeats = 1000;
constexpr std::int64_t kMostSteps = 200'000;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePointer Parse() {
    NodePointer root = Either();
    if (root != nullptr && at_ < text_.size()) return Fault("a ) without its (");
    return root;
  }
  const std::string& error() const { return error_; }

 private:
  NodePointer Fault(const char* what) {
    if (error_.empty()) error_ = what;
    return nullptr;
  }
  bool Take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  NodePointer Either() {
    if (++depth_ > kDeepest) return Fault("too many groups in groups");
    auto either = std::make_shared<Node>();
    either->kind = Kind::kEither;
    do {
      NodePointer branch = Sequence();
      if (branch == nullptr) return nullptr;
      either->children.push_back(std::move(branch));
    } while (Take('|'));
    --depth_;
    return either;
  }

  NodePointer Sequence() {
    auto sequence = std::make_shared<Node>();
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      NodePointer item = Atom();
      if (item != nullptr) item = Repeated(std::move(item));
      if (item == nullptr) return nullptr;
      sequence->children.push_back(std::move(item));
    }
    return sequence;
  }

  NodePointer Atom() {
    const char c = text_[at_++];
    if (c == '(') return Group();
    auto node = std::make_shared<Node>();
    if (c == '^' || c == '$') {
      node->kind = c == '^' ? Kind::kBegin : Kind::kEnd;
      return node;
    }
    node->kind = Kind::kSet;
    node->set.assign(256, c == '.');
    if (c == '.') return node;
    if (c == '[') return Class(std::move(node));
    if (c == '\\') return Escape(&node->set) ? node : Fault("an unknown escape");
    if (c == '*' || c == '+' || c == '?' || c == '{') return Fault("nothing to repeat");
    node->set[static_cast<unsigned char>(c)] = true;
    return node;
  }

  NodePointer Group() {
    if (Take('?')) {
      if (Take('P')) {
        if (!Take('<')) return Fault("a group of an unknown kind");
        while (at_ < text_.size() && text_[at_] != '>') ++at_;
        if (!Take('>')) return Fault("a group's name does not end");
      } else if (!Take(':')) {
        return Fault("a group of an unknown kind");
      }
    }
    NodePointer inside = Either();
    if (inside != nullptr && !Take(')')) return Fault("a ( without its )");
    return inside;
  }

  NodePointer Class(std::shared_ptr<Node> node) {
    const bool inverted = Take('^');
    bool first = true;
    while (at_ < text_.size() && (text_[at_] != ']' || first)) {
      first = false;
      const auto low = static_cast<unsigned char>(text_[at_++]);
      if (low == '\\') {
        if (!Escape(&node->set)) return Fault("an unknown escape");
        continue;
      }
      const bool is_range = at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      const auto high = is_range ? static_cast<unsigned char>(text_[at_ + 1]) : low;
      if (is_range) at_ += 2;
      if (high < low) return Fault("a range that runs backwards");
      for (unsigned c = low; c <= high; ++c) node->set[c] = true;
    }
    if (!Take(']')) return Fault("a [ without its ]");
    if (inverted) node->set.flip();
    return node;
  }

  bool Escape(std::vector<bool>* set) {
    if (at_ >= text_.size()) return false;
    const auto c = static_cast<unsigned char>(text_[at_++]);
    const auto add = [&](auto is_in) {
      for (int i = 0; i < 256; ++i) {
        if (is_in(i)) (*set)[static_cast<std::size_t>(i)] = true;
      }
    };
    const auto is_word = [](int i) { return i < 128 && (std::isalnum(i) != 0 || i == '_'); };
    const auto is_digit = [](int i) { return i >= '0' && i <= '9'; };
    const auto is_space = [](int i) { return i == ' ' || (i >= '\t' && i <= '\r'); };
    if (c == 'd') add(is_digit);
    if (c == 'D') add([&](int i) { return !is_digit(i); });
    if (c == 'w') add(is_word);
    if (c == 'W') add([&](int i) { return !is_word(i); });
    if (c == 's') add(is_space);
    if (c == 'S') add([&](int i) { return !is_space(i); });
    if (std::isalnum(c) != 0)
      return std::string_view("dDwWsS").find(static_cast<char>(c)) != std::string_view::npos;
    (*set)[c] = true;
    return true;
  }

  NodePointer Repeated(NodePointer item) {
    while (at_ < text_.size()) {
      auto repeat = std::make_shared<Node>();
      repeat->kind = Kind::kRepeat;
      repeat->most = kForever;
      if (Take('*')) {
      } else if (Take('+')) {
        repeat->least = 1;
      } else if (Take('?')) {
        repeat->most = 1;
      } else if (Take('{')) {
        repeat->least = Number();
        repeat->most = Take(',') ? (at_ < text_.size() && text_[at_] != '}' ? Number() : kForever)
                                 : repeat->least;
        if (!Take('}') || repeat->most < repeat->least) return Fault("a wrong number of repeats");
      } else {
        return item;
      }
      Take('?');  // lazy: which way it is tried first does not change whether it matches
      repeat->children.push_back(std::move(item));
      item = std::move(repeat);
      if (++depth_ > kDeepest) return Fault("too many repeats of repeats");
    }
    return item;
  }

  int Number() {
    int number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = std::min(kMostRepeats, 10 * number + (text_[at_++] - '0'));
    }
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

// Backtracking with the rest of the match as a continuation.
class Matcher {
 public:
  using Next = std::function<bool(std::size_t)>;

  explicit Matcher(std::string_view text) : text_(text) {}

  bool Match(const Node& node, std::size_t at, const Next& next) {
    if (++steps_ > kMostSteps) return false;
    switch (node.kind) {
      case Kind::kSet:
        return at < text_.size() && node.set[static_cast<unsigned char>(text_[at])] && next(at + 1);
      case Kind::kBegin:
        return at == 0 && next(at);
      case Kind::kEnd:
        return at == text_.size() && next(at);
      case Kind::kSequence:
        return Sequence(node, 0, at, next);
      case Kind::kEither:
        return std::ranges::any_of(
            node.children, [&](const NodePointer& child) { return Match(*child, at, next); });
      case Kind::kRepeat:
        return Repeat(node, 0, at, next);
    }
    return false;
  }

 private:
  bool Sequence(const Node& node, std::size_t child, std::size_t at, const Next& next) {
    if (child == node.children.size()) return next(at);
    return Match(*node.children[child], at,
                 [&, child](std::size_t end) { return Sequence(node, child + 1, end, next); });
  }

  bool Repeat(const Node& node, int count, std::size_t at, const Next& next) {
    if (count < node.most && count <= static_cast<int>(text_.size())) {
      const bool more = Match(*node.children[0], at, [&, at, count](std::size_t end) {
        // An empty repetition leads nowhere new.
        return (end > at || count < node.least) && Repeat(node, count + 1, end, next);
      });
      if (more) return true;
    }
    return count >= node.least && next(at);
  }

  std::string_view text_;
  std::int64_t steps_ = 0;
};

constexpr std::size_t kLongestText = 1000;

}  // namespace

Expected<Pattern> Pattern::Parse(std::string_view text) {
  Parser parser(text.substr(0, kLongestText));
  NodePointer root = text.size() > kLongestText ? nullptr : parser.Parse();
  if (root != nullptr) return Pattern(std::move(root));
  const std::string why = text.size() > kLongestText ? "too long" : parser.error();
  return Fail(Error("bad-pattern", "\"" + std::string(text.substr(0, 80)) +
                                       "\" is no regular expression that is known here: " + why));
}

bool Pattern::Matches(std::string_view text) const {
  if (text.size() > kLongestText) return false;
  return Matcher(text).Match(*root_, 0, [&](std::size_t end) { return end == text.size(); });
}

}  // namespace trainfit
