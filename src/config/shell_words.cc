#include "config/shell_words.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "config/text_problems.h"

namespace trainfit::config {
namespace {

constexpr std::size_t kMaxWords = 100'000;
constexpr std::size_t kMaxWordBytes = std::size_t{1} << 20;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

// Bytes of `NAME` in "NAME=…"; 0: no assignment.
std::size_t AssignedName(std::string_view word) {
  if (word.empty() || !IsNameStart(word[0])) return 0;
  std::size_t end = 1;
  while (end < word.size() && IsNamePart(word[end])) ++end;
  return end < word.size() && word[end] == '=' ? end : 0;
}

class Splitter {
 public:
  explicit Splitter(std::shared_ptr<const Document> document)
      : document_(std::move(document)), text_(document_->text) {}

  Expected<std::vector<std::vector<Node>>> Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_break_in_array = c == '\n' && in_array_;
      if (c == ' ' || c == '\t' || c == '\r' || is_break_in_array) {
        EndWord();
        ++at_;
      } else if (c == ')' && in_array_) {
        EndArray();
        ++at_;
      } else if (c == '(' && BeginsArray()) {
        BeginArray();
        ++at_;
      } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        EndCommand();
        ++at_;
      } else if (c == '#' && !in_word_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (!ReadPiece()) {
        return Fail(ErrorAt(SpanInText(document_->name, text_, opened_, opened_ + 1), "open-quote",
                            "this quote is not closed"));
      }
      if (words_ > kMaxWords || word_.size() > kMaxWordBytes) {
        return Fail(ErrorAt(SpanInText(document_->name, text_, at_, at_), "too-large",
                            "this is no command line: too many or too long words"));
      }
    }
    EndCommand();
    return std::move(commands_);
  }

 private:
  void Begin() {
    if (!in_word_) begin_ = at_;
    in_word_ = true;
  }

  // One piece of a word: a letter, an escape, a quoted part, a variable. False: a quote is open.
  bool ReadPiece() {
    const char c = text_[at_];
    if (c == '\\') {
      ReadEscape();
      return true;
    }
    Begin();
    if (c == '\'') {
      opened_ = at_;
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) return false;
      word_ += text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return true;
    }
    if (c == '"') return ReadDoubleQuoted();
    if (c == '$') {
      const std::size_t words_before = command_.size();
      ReadVariable();
      if (word_.empty() && command_.size() > words_before) in_word_ = false;
      return true;
    }
    word_ += c;
    ++at_;
    return true;
  }

  void ReadEscape() {
    std::size_t next = at_ + 1;
    if (next < text_.size() && text_[next] == '\r') ++next;
    if (next < text_.size() && text_[next] == '\n') {  // the line goes on
      EndWord();
      at_ = next + 1;
      return;
    }
    Begin();
    if (at_ + 1 < text_.size()) word_ += text_[at_ + 1];
    at_ = std::min(at_ + 2, text_.size());
  }

  bool ReadDoubleQuoted() {
    opened_ = at_++;
    const std::size_t words_before = command_.size();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '$') {
        ReadVariable();
        continue;
      }
      const bool is_escape =
          text_[at_] == '\\' && at_ + 1 < text_.size() &&
          std::string_view("\"\\$`\n").find(text_[at_ + 1]) != std::string_view::npos;
      if (is_escape) ++at_;
      if (!is_escape || text_[at_] != '\n') word_ += text_[at_];
      ++at_;
    }
    if (at_ >= text_.size()) return false;
    ++at_;
    // "${ARRAY[@]}" alone is the array's words and no word of its own.
    if (word_.empty() && command_.size() > words_before) in_word_ = false;
    return true;
  }

  // NAME=( and NAME+=( open an array, whose words `${NAME[@]}` stands for.
  bool BeginsArray() const {
    return in_word_ && !in_array_ && word_.size() > 1 && word_.back() == '=' &&
           IsNameStart(word_[0]);
  }
  void BeginArray() {
    in_array_ = true;
    const bool adds = word_[word_.size() - 2] == '+';
    array_name_ = word_.substr(0, word_.size() - (adds ? 2 : 1));
    if (!adds) arrays_[array_name_].clear();
    word_.clear();
    in_word_ = false;
    array_begin_ = command_.size();
  }
  void EndArray() {
    EndWord();
    std::vector<Node>& array = arrays_[array_name_];
    array.insert(array.end(), command_.begin() + static_cast<std::ptrdiff_t>(array_begin_),
                 command_.end());
    command_.resize(array_begin_);
    in_array_ = false;
  }

  // The words of an array for `${NAME[@]}` here; false: it is no such name.
  bool ReadArray() {
    const std::size_t end = text_.find('}', at_);
    if (text_.substr(at_, 2) != "${" || end == std::string_view::npos) return false;
    const std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
    if (!inside.ends_with("[@]") && !inside.ends_with("[*]")) return false;
    const auto found = arrays_.find(std::string(inside.substr(0, inside.size() - 3)));
    if (found == arrays_.end()) return false;
    words_ += found->second.size();
    if (words_ <= kMaxWords) {
      command_.insert(command_.end(), found->second.begin(), found->second.end());
    }
    at_ = end + 1;
    return true;
  }

  // $NAME, ${NAME}, ${NAME:-default}; anything else stays as it is.
  void ReadVariable() {
    if (ReadArray()) return;
    const std::size_t begin = at_++;
    const bool is_braced = at_ < text_.size() && text_[at_] == '{';
    if (is_braced) ++at_;
    const std::size_t name_at = at_;
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    const std::string name(text_.substr(name_at, at_ - name_at));
    std::optional<std::string> fallback;
    if (is_braced) {
      const std::size_t end = std::min(text_.find('}', at_), text_.size());
      const std::string_view rest = text_.substr(at_, end - at_);
      if (rest.starts_with(":-")) fallback = rest.substr(2);
      at_ = std::min(end + 1, text_.size());
    }
    const auto found = values_.find(name);
    if (found != values_.end()) {
      word_ += found->second;
    } else if (fallback) {
      word_ += *fallback;
    } else {
      word_ += text_.substr(begin, at_ - begin);
    }
  }

  void EndWord() {
    if (!in_word_) return;
    Node node;
    node.kind = NodeKind::kString;
    node.text = std::move(word_);
    node.document = document_;
    node.begin = static_cast<std::uint32_t>(begin_);
    node.end = static_cast<std::uint32_t>(at_);
    word_.clear();
    in_word_ = false;
    ++words_;
    command_.push_back(std::move(node));
  }

  void EndCommand() {
    EndWord();
    in_array_ = false;  // an array that is cut off by '|' or ';' is none
    if (command_.empty()) return;
    // `export NAME=value` and `NAME=value` alone set names for what follows.
    std::size_t first = command_[0].text == "export" ? 1 : 0;
    bool is_assignment = true;
    for (std::size_t i = first; i < command_.size(); ++i) {
      is_assignment = is_assignment && AssignedName(command_[i].text) > 0;
    }
    if (!is_assignment) {
      commands_.push_back(std::move(command_));
    } else {
      for (std::size_t i = first; i < command_.size(); ++i) {
        const std::string& word = command_[i].text;
        const std::size_t name = AssignedName(word);
        values_[word.substr(0, name)] = word.substr(name + 1);
      }
    }
    command_.clear();
  }

  const std::shared_ptr<const Document> document_;
  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::size_t opened_ = 0;
  std::size_t words_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<Node> command_;
  std::vector<std::vector<Node>> commands_;
  std::map<std::string, std::string> values_;
  bool in_array_ = false;
  std::string array_name_;
  std::size_t array_begin_ = 0;
  std::map<std::string, std::vector<Node>> arrays_;
};

}  // namespace

Expected<std::vector<std::vector<Node>>> ParseShellWords(std::string name, std::string text,
                                                         const ReadLimits& limits) {
  if (auto problem = CheckWholeText(name, text, limits)) return Fail(std::move(*problem));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  const std::size_t invalid = FindInvalidUtf8(text);
  if (invalid != std::string::npos) {
    return Fail(ErrorAt(SpanInText(name, text, invalid, invalid + 1), "not-utf-8",
                        "this byte is no UTF-8: the file is of another kind"));
  }
  auto document = std::make_shared<Document>();
  document->name = std::move(name);
  document->text = std::move(text);
  return Splitter(std::move(document)).Run();
}

}  // namespace trainfit::config
