// Builds the Node tree from the events of a YAML parser; knows no parser.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "config/json_reader.h"
#include "config/node.h"

namespace trainfit::config {

// Events in the order of the text, `at` being the byte where the parser saw the value begin. After
// the first fatal problem (is_stopped) events are ignored. Anchors are numbers from 1; 0: none.
//
// Aliases are copied into the tree, as PyYAML's users see it. A copy costs its size against the
// limits, and so does remembering an anchored value, so that ten nested lists of ten aliases end
// with an error and not with all memory.
class YamlTreeBuilder {
 public:
  YamlTreeBuilder(std::shared_ptr<const Document> document, const ReadLimits& limits)
      : document_(std::move(document)), limits_(limits) {
    root_.document = document_;
  }

  void Null(std::size_t at, std::size_t anchor);
  void Alias(std::size_t at, std::size_t anchor);
  // `tag` is "?" for plain text, "!" for quoted text, else the full tag.
  void Scalar(std::size_t at, std::string_view tag, std::size_t anchor, std::string_view value);
  void Begin(NodeKind kind, std::size_t at, std::string_view tag, std::size_t anchor);
  void End();

  // Records a problem and stops.
  void Stop(Diagnostic problem);
  void Stop(std::size_t begin, std::size_t end, std::string code, std::string message,
            std::string suggestion = "");
  bool is_stopped() const { return is_stopped_; }
  // True when reading on would only cost: a limit was reached.
  bool is_over_limit() const { return is_over_limit_; }

  // Says that the parser found a bracket that is not closed. At the end of the text it takes what
  // stands behind the bracket for a key first, so that a complaint about that key is withdrawn.
  void StopAtOpenBracket(Diagnostic problem);

  Expected<Node> Finish();

 private:
  // What a subtree costs to copy.
  struct Size {
    std::size_t values = 0;
    std::size_t bytes = 0;
    std::size_t depth = 0;  // 1: a collection of scalars
  };
  struct Anchored {
    Node node;
    Size size;
  };
  // A collection whose end has not come yet.
  struct Frame {
    Node node;
    std::size_t anchor = 0;
    std::optional<Member> member;  // of a mapping: the key that waits for its value
    bool is_merge = false;         // that key is `<<`
    std::vector<Node> merged;      // values of `<<`, first wins
  };

  static Size Measure(const Node& node);
  void StopAtLimit(std::size_t begin, std::size_t end, std::string code, std::string message);
  bool Charge(const Size& size, std::size_t at, std::size_t end);
  void Remember(std::size_t anchor, const Node& node);
  bool WaitsForKey() const {
    return !open_.empty() && open_.back().node.kind == NodeKind::kObject &&
           !open_.back().member.has_value();
  }
  void AddKey(std::string_view tag, std::string_view value, std::size_t begin, std::size_t end);
  void AddValue(Node node);
  void AddMerged(Node node);
  void Merge(Frame* frame);
  std::optional<Node> Resolve(std::size_t at, std::string_view tag, std::string_view value);
  Node MakeNode(NodeKind kind, std::size_t begin, std::size_t end) const;

  const std::shared_ptr<const Document> document_;
  const ReadLimits limits_;
  std::vector<Frame> open_;
  std::vector<std::optional<Anchored>> anchors_;
  Node root_;                 // null, until a document holds something
  std::size_t last_end_ = 0;  // of the last scalar or alias
  std::size_t values_ = 0;
  std::size_t copied_bytes_ = 0;
  bool is_stopped_ = false;
  bool is_over_limit_ = false;
  bool is_key_problem_ = false;  // the last problem is a collection as a key
  Diagnostics problems_;
};

}  // namespace trainfit::config
