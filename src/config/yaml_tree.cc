#include "config/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "config/text_problems.h"
#include "config/yaml_places.h"
#include "config/yaml_scalar.h"

namespace trainfit::config {
namespace {

constexpr std::string_view kPlain = "?";
constexpr std::string_view kQuoted = "!";
constexpr std::string_view kYamlTags = "tag:yaml.org,2002:";

// The type that a tag such as !!int names.
std::optional<NodeKind> KindOfTag(std::string_view tag) {
  if (!tag.starts_with(kYamlTags)) return std::nullopt;
  const std::string_view type = tag.substr(kYamlTags.size());
  if (type == "str") return NodeKind::kString;
  if (type == "int") return NodeKind::kInt;
  if (type == "float") return NodeKind::kDouble;
  if (type == "bool") return NodeKind::kBool;
  if (type == "null") return NodeKind::kNull;
  if (type == "seq") return NodeKind::kArray;
  if (type == "map") return NodeKind::kObject;
  return std::nullopt;
}

std::string ShortTag(std::string_view tag) {
  if (tag.starts_with(kYamlTags)) return "!!" + std::string(tag.substr(kYamlTags.size()));
  return std::string(tag);
}

}  // namespace

void YamlTreeBuilder::Stop(Diagnostic problem) {
  is_stopped_ = true;
  problems_.push_back(std::move(problem));
}

void YamlTreeBuilder::Stop(std::size_t begin, std::size_t end, std::string code,
                           std::string message, std::string suggestion) {
  Stop(ErrorAt(SpanInText(document_->name, document_->text, begin, end), std::move(code),
               std::move(message), std::move(suggestion)));
}

void YamlTreeBuilder::StopAtLimit(std::size_t begin, std::size_t end, std::string code,
                                  std::string message) {
  is_over_limit_ = true;
  Stop(begin, end, std::move(code), std::move(message));
}

void YamlTreeBuilder::StopAtOpenBracket(Diagnostic problem) {
  if (is_stopped_ && !is_key_problem_) return;
  if (is_key_problem_) problems_.pop_back();
  Stop(std::move(problem));
}

Expected<Node> YamlTreeBuilder::Finish() {
  if (problems_.empty()) return std::move(root_);
  std::sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.span.line, a.span.column) < std::pair(b.span.line, b.span.column);
  });
  return Fail(std::move(problems_));
}

Node YamlTreeBuilder::MakeNode(NodeKind kind, std::size_t begin, std::size_t end) const {
  Node node;
  node.kind = kind;
  node.document = document_;
  node.begin = static_cast<std::uint32_t>(std::min(begin, document_->text.size()));
  node.end =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(end, node.begin, document_->text.size()));
  return node;
}

YamlTreeBuilder::Size YamlTreeBuilder::Measure(const Node& node) {
  Size size{.values = 1, .bytes = node.text.size()};
  const auto add = [&](const Node& child) {
    const Size part = Measure(child);
    size.values += part.values;
    size.bytes += part.bytes;
    size.depth = std::max(size.depth, part.depth);
  };
  for (const Node& item : node.items) add(item);
  for (const Member& member : node.members) {
    size.bytes += member.key.size();
    add(member.value);
  }
  if (node.kind == NodeKind::kArray || node.kind == NodeKind::kObject) ++size.depth;
  return size;
}

// Counts a copy; false, with a problem, when the limits are reached.
bool YamlTreeBuilder::Charge(const Size& size, std::size_t at, std::size_t end) {
  values_ += size.values;
  copied_bytes_ += size.bytes;
  if (values_ > limits_.max_values) {
    StopAtLimit(at, end, "too-large",
                fmt::format("more than {} values, aliases expanded", limits_.max_values));
  } else if (copied_bytes_ > limits_.max_bytes) {
    StopAtLimit(at, end, "too-large",
                fmt::format("aliases expand to more than {} bytes", limits_.max_bytes));
  }
  return !is_stopped_;
}

void YamlTreeBuilder::Remember(std::size_t anchor, const Node& node) {
  if (anchor == 0) return;
  const Size size = Measure(node);
  if (!Charge(size, node.begin, node.begin + 1)) return;
  if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
  anchors_[anchor] = Anchored{node, size};
}

void YamlTreeBuilder::Null(std::size_t at, std::size_t anchor) {
  if (is_stopped_) return;
  if (WaitsForKey()) {
    return Stop(at, at + 1, "bad-key", "a key cannot be null", "quotes, if the word is meant");
  }
  // Of a value that was left out, the parser gives the place of what follows; show the key's end.
  const std::string_view text = document_->text;
  const std::size_t begin = SkipYamlProperties(text, at);
  const std::string_view rest = text.substr(begin);
  std::size_t end = begin;
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (rest.starts_with(word)) end = begin + word.size();
  }
  const bool is_written = end > begin || anchor != 0;
  if (!is_written) end = std::min(last_end_, begin);
  Node node = MakeNode(NodeKind::kNull, is_written ? begin : end, end);
  last_end_ = std::max(last_end_, end);
  Remember(anchor, node);
  AddValue(std::move(node));
}

void YamlTreeBuilder::Alias(std::size_t at, std::size_t anchor) {
  if (is_stopped_) return;
  const std::size_t end = YamlAliasEnd(document_->text, at);
  last_end_ = end;
  if (WaitsForKey()) {
    return Stop(at, end, "bad-key", "an alias cannot be a key", "the key itself");
  }
  if (anchor >= anchors_.size() || !anchors_[anchor].has_value()) {
    return Stop(at, end, "bad-alias", "the alias stands inside the value that it names");
  }
  const Anchored& anchored = *anchors_[anchor];
  if (open_.size() + anchored.size.depth > static_cast<std::size_t>(limits_.max_depth)) {
    return Stop(
        at, end, "too-deep",
        fmt::format("nested more than {} levels deep, aliases expanded", limits_.max_depth));
  }
  if (!Charge(anchored.size, at, end)) return;
  AddValue(anchored.node);
}

// A scalar as a value, or nothing with a problem.
std::optional<Node> YamlTreeBuilder::Resolve(std::size_t at, std::string_view tag,
                                             std::string_view value) {
  const std::size_t begin = SkipYamlProperties(document_->text, at);
  const std::size_t end = YamlScalarEnd(document_->text, begin, value);
  if (end == std::string_view::npos) {
    Stop(begin, begin + 1, "yaml-syntax", "the quote is not closed");
    return std::nullopt;
  }
  Node node = MakeNode(NodeKind::kString, begin, end);
  std::optional<YamlScalar> scalar = YamlScalar{};
  if (tag == kPlain) {
    scalar = ResolveYamlScalar(value);
  } else if (tag != kQuoted) {
    const std::optional<NodeKind> kind = KindOfTag(tag);
    if (!kind.has_value() || *kind == NodeKind::kArray || *kind == NodeKind::kObject) {
      Stop(at, YamlAliasEnd(document_->text, at), "bad-tag",
           fmt::format("the tag {} is not read", Quoted(ShortTag(tag))), "the value without a tag");
      return std::nullopt;
    }
    scalar = ResolveYamlScalarAs(*kind, value);
    if (!scalar.has_value()) {
      Stop(begin, end, "bad-tag",
           fmt::format("{} is not of the type {}", Quoted(value), ShortTag(tag)));
      return std::nullopt;
    }
  }
  node.kind = scalar->kind;
  node.boolean = scalar->boolean;
  node.integer = scalar->integer;
  node.real = scalar->real;
  if (node.kind == NodeKind::kString || node.IsNumber()) node.text = std::string(value);
  return node;
}

void YamlTreeBuilder::Scalar(std::size_t at, std::string_view tag, std::size_t anchor,
                             std::string_view value) {
  if (is_stopped_) return;
  std::optional<Node> node = Resolve(at, tag, value);
  if (!node.has_value()) return;
  last_end_ = node->end;
  Remember(anchor, *node);
  if (WaitsForKey()) return AddKey(tag, value, node->begin, node->end);
  AddValue(*std::move(node));
}

// Keys are text, whatever they would be as values: `on:` is "on" and `1:` is "1".
void YamlTreeBuilder::AddKey(std::string_view tag, std::string_view value, std::size_t begin,
                             std::size_t end) {
  Frame& frame = open_.back();
  frame.is_merge = tag == kPlain && value == "<<";
  frame.member = Member{std::string(value), static_cast<std::uint32_t>(begin),
                        static_cast<std::uint32_t>(end), Node()};
}

void YamlTreeBuilder::AddValue(Node node) {
  if (is_stopped_) return;
  if (!Charge({.values = 1}, node.begin, node.begin + 1)) return;
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = open_.back();
  if (frame.node.kind == NodeKind::kArray) {
    frame.node.items.push_back(std::move(node));
    return;
  }
  if (frame.is_merge) return AddMerged(std::move(node));
  frame.member->value = std::move(node);
  frame.node.members.push_back(*std::move(frame.member));
  frame.member.reset();
}

// The value of a `<<`: a mapping, or a list of them.
void YamlTreeBuilder::AddMerged(Node node) {
  Frame& frame = open_.back();
  const Member key = *std::exchange(frame.member, std::nullopt);
  frame.is_merge = false;
  if (!frame.merged.empty()) {
    return Stop(key.key_begin, key.key_end, "duplicate-key", "the key \"<<\" appears twice",
                "<<: [*first, *second]");
  }
  const auto is_mapping = [](const Node& n) { return n.kind == NodeKind::kObject; };
  if (is_mapping(node)) {
    frame.merged.push_back(std::move(node));
    return;
  }
  if (node.kind != NodeKind::kArray ||
      !std::all_of(node.items.begin(), node.items.end(), is_mapping)) {
    return Stop(
        key.key_begin, key.key_end, "bad-merge",
        fmt::format("\"<<\" takes a mapping or a list of mappings, found {}", Name(node.kind)));
  }
  frame.merged = std::move(node.items);
}

// Own keys win over merged ones, earlier merged mappings over later; merged keys come first. All
// this as PyYAML's flatten_mapping does it.
void YamlTreeBuilder::Merge(Frame* frame) {
  if (frame->merged.empty()) return;
  std::unordered_set<std::string> seen;
  for (const Member& member : frame->node.members) seen.insert(member.key);
  std::vector<Member> members;
  for (Node& source : frame->merged) {
    for (Member& member : source.members) {
      if (seen.insert(member.key).second) members.push_back(std::move(member));
    }
  }
  std::move(frame->node.members.begin(), frame->node.members.end(), std::back_inserter(members));
  frame->node.members = std::move(members);
}

void YamlTreeBuilder::Begin(NodeKind kind, std::size_t at, std::string_view tag,
                            std::size_t anchor) {
  if (is_stopped_) return;
  const std::size_t begin = SkipYamlProperties(document_->text, at);
  if (WaitsForKey()) {
    is_key_problem_ = true;
    return Stop(begin, begin + 1, "bad-key", fmt::format("a key cannot be {}", Name(kind)),
                kind == NodeKind::kObject ? "quotes, if text is meant: \"{{name}}\""
                                          : "quotes, if text is meant: \"[name]\"");
  }
  if (tag != kPlain && tag != kQuoted && KindOfTag(tag) != kind) {
    return Stop(at, YamlAliasEnd(document_->text, at), "bad-tag",
                fmt::format("the tag {} is not read", Quoted(ShortTag(tag))),
                "the value without a tag");
  }
  if (open_.size() >= static_cast<std::size_t>(std::max(0, limits_.max_depth))) {
    return StopAtLimit(begin, begin + 1, "too-deep",
                       fmt::format("nested more than {} levels deep", limits_.max_depth));
  }
  Frame frame;
  frame.node = MakeNode(kind, begin, begin);
  frame.anchor = anchor;
  open_.push_back(std::move(frame));
}

void YamlTreeBuilder::End() {
  if (is_stopped_ || open_.empty()) return;
  Frame frame = std::move(open_.back());
  open_.pop_back();
  const std::size_t end = YamlCollectionEnd(document_->text, frame.node.begin, last_end_);
  frame.node.end = static_cast<std::uint32_t>(end);
  last_end_ = std::max(last_end_, end);
  AppendDuplicateKeys(frame.node, &problems_);
  Merge(&frame);
  Remember(frame.anchor, frame.node);
  AddValue(std::move(frame.node));
}

}  // namespace trainfit::config
