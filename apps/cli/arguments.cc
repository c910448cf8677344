#include "cli/arguments.h"

#include <algorithm>
#include <utility>

#include "base/nearest_word.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/values.h"

namespace trainfit::cli {
namespace {

// The command line as one text, to point at places in it.
class CommandText {
 public:
  explicit CommandText(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      // Quotes where a shell needs them; they are not underlined, but for a word of nothing else.
      const bool is_quoted = word.empty() || word.find(' ') != std::string::npos;
      text_ += is_quoted ? " '" : " ";
      begins_.push_back(text_.size() - (word.empty() ? 1 : 0));
      text_ += word;
      ends_.push_back(text_.size() + (word.empty() ? 1 : 0));
      if (is_quoted) text_ += '\'';
    }
  }

  SourceSpan SpanOf(std::size_t word) const { return SpanFrom(word, 0); }
  // Of a word without its first `skip` bytes.
  SourceSpan SpanFrom(std::size_t word, std::size_t skip) const {
    return SpanInText(kPlace, text_, begins_[word] + skip, ends_[word]);
  }
  SourceSpan SpanOfEnd() const { return SpanInText(kPlace, text_, text_.size(), text_.size()); }

 private:
  static constexpr std::string_view kPlace = "<command line>";
  std::string text_ = "trainfit";
  std::vector<std::size_t> begins_;
  std::vector<std::size_t> ends_;
};

// An option as it was typed, its value found.
struct Given {
  const Option* option = nullptr;
  std::string value;
  SourceSpan option_span;
  SourceSpan value_span;
};

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words), text_(words) {}

  Arguments Parse() {
    for (at_ = 0; at_ < words_.size(); ++at_) ReadWord();
    ChooseCommand();
    for (const Given& given : givens_) Apply(given);
    if (result_.command->takes_words) {
      for (const std::size_t word : positional_) result_.request.words.push_back(words_[word]);
    } else if (result_.command->takes_files) {
      ReadFiles();
      CheckHardware();
    } else {
      ReadModel();
      if (result_.errors.empty()) CheckComplete();
    }
    return std::move(result_);
  }

 private:
  void Complain(SourceSpan span, std::string code, std::string message, std::string try_ = "") {
    result_.errors.push_back(
        ErrorAt(std::move(span), std::move(code), std::move(message), std::move(try_)));
  }

  void ReadWord() {
    const std::string& word = words_[at_];
    if (only_positional_ || word == "-" || !word.starts_with('-')) {
      positional_.push_back(at_);
    } else if (word == "--") {
      only_positional_ = true;
    } else if (word == "-h") {
      givens_.push_back({FindOption("help"), "yes", text_.SpanOf(at_), {}});
    } else if (word == "-V") {
      givens_.push_back({FindOption("version"), "yes", text_.SpanOf(at_), {}});
    } else {
      ReadOption(word);
    }
  }

  void ReadOption(const std::string& word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : 1;
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(dashes, equals - dashes);
    const Option* option = dashes == 2 ? FindOption(name) : nullptr;
    bool is_negated = false;
    if (option == nullptr && dashes == 2 && Normalized(name).starts_with("no-")) {
      option = FindOption(name.substr(3));
      is_negated = option != nullptr && option->can_be_negated;
      if (!is_negated) option = nullptr;
    }
    if (option == nullptr) {
      unknown_.push_back(at_);
      SkipUnknownValue(equals < word.size());
      return;
    }
    Given given{option, "", text_.SpanOf(at_), text_.SpanOf(at_)};
    if (equals < word.size()) {
      given.value = word.substr(equals + 1);
      given.value_span = text_.SpanFrom(at_, equals + 1);
    } else if (!FindValue(&given)) {
      return;
    }
    if (option->IsSwitch() && !ReadSwitch(is_negated, &given)) return;
    givens_.push_back(std::move(given));
  }

  // The word after an unknown option is most likely its value, and then no model.
  void SkipUnknownValue(bool has_value) {
    if (has_value || at_ + 1 == words_.size()) return;
    const std::string& next = words_[at_ + 1];
    if (!next.starts_with('-') && FindCommand(next) == nullptr) ++at_;
  }

  // The value in the next word: for a switch only "true" or "false", as the trainers of
  // transformers take it.
  bool FindValue(Given* given) {
    const std::string next = at_ + 1 < words_.size() ? words_[at_ + 1] : "";
    if (given->option->IsSwitch()) {
      const std::string word = Normalized(next);
      if (word != "true" && word != "false") return true;
    } else if (at_ + 1 == words_.size() || next.starts_with("--")) {
      Complain(text_.SpanOf(at_), "no-value",
               "--" + std::string(given->option->name) + " needs a value",
               "--" + std::string(given->option->name) + " " + std::string(given->option->metavar));
      return false;
    }
    given->value = next;
    given->value_span = text_.SpanOf(++at_);
    return true;
  }

  // "", "true", "yes", "1" → "yes"; "false", "no", "0" → "no".
  bool ReadSwitch(bool is_negated, Given* given) {
    const std::string word = Normalized(given->value);
    const bool is_yes = word.empty() || word == "true" || word == "yes" || word == "1";
    const bool is_no = word == "false" || word == "no" || word == "0";
    if (!is_yes && !is_no) {
      Complain(
          given->value_span, "not-a-switch",
          "--" + std::string(given->option->name) + " is on or off, not " + Quoted(given->value));
      return false;
    }
    given->value = is_yes != is_negated ? "yes" : "no";
    return true;
  }

  // The first word that is no option names the command, or is the model.
  void ChooseCommand() {
    result_.command = &UnnamedCommand();
    if (!positional_.empty()) {
      const std::string& first = words_[positional_[0]];
      if (const Command* command = FindCommand(first); command != nullptr) {
        result_.command = command;
        positional_.erase(positional_.begin());
      } else if (positional_.size() > 1) {
        const std::string nearest = NearestWord(first, CommandNames());
        if (!nearest.empty()) {
          Complain(text_.SpanOf(positional_[0]), "unknown-command",
                   "unknown command " + Quoted(first), nearest);
          result_.command = FindCommand(nearest);
          positional_.erase(positional_.begin());
        }
      }
    }
    for (const std::size_t word : unknown_) ComplainUnknown(word);
  }

  void ComplainUnknown(std::size_t word) {
    const std::string& typed = words_[word];
    const std::size_t equals = std::min(typed.find('='), typed.size());
    const std::string name = typed.substr(0, equals);
    const std::size_t first = std::min(name.find_first_not_of('-'), name.size());
    const std::string nearest =
        NearestWord(Normalized(name.substr(first)), OptionNames(result_.command->bit));
    SourceSpan span = text_.SpanOf(word);
    span.length = static_cast<int>(std::min<std::size_t>(span.length, name.size()));
    Complain(std::move(span), "unknown-option", "unknown option " + Quoted(name),
             nearest.empty() ? "" : "--" + nearest);
  }

  void ComplainOfOtherCommand(const Given& given) {
    std::string command;
    for (const Command& candidate : Commands()) {
      if ((given.option->commands & candidate.bit) != 0) command = candidate.name;
    }
    const std::string name = "--" + std::string(given.option->name);
    std::string suggestion = "trainfit " + command;
    for (const std::string& word : words_) suggestion += " " + word;
    const bool is_unnamed = result_.command->name.empty() && !command.empty();
    Complain(given.option_span, "option-of-other-command",
             name + " belongs to " + (command.empty() ? "trainfit MODEL" : "trainfit " + command),
             is_unnamed ? suggestion : "");
  }

  void Apply(const Given& given) {
    const std::string name = "--" + std::string(given.option->name);
    if ((given.option->commands & result_.command->bit) == 0) {
      ComplainOfOtherCommand(given);
      return;
    }
    for (const Given& other : givens_) {
      if (&other == &given) break;
      if (other.option == given.option && other.value != given.value) {
        Complain(given.option_span, "given-twice",
                 given.option->IsSwitch()
                     ? name + " is both on and off"
                     : name + " is given twice: " + CutToWidth(other.value, 40) + " and " +
                           CutToWidth(given.value, 40));
        return;
      }
    }
    std::optional<Diagnostic> complaint = given.option->apply(given.value, &result_.request);
    if (!complaint) {
      Remember(given);
      return;
    }
    complaint->span = given.value_span;
    complaint->message = name + ": " + complaint->message;
    result_.errors.push_back(std::move(*complaint));
  }

  void Remember(const Given& given) {
    const Option& option = *given.option;
    result_.request.places.push_back({option.name, given.value_span});
    if (option.group == Group::kOutput || option.group == Group::kCase) return;
    std::string& typed = result_.request.typed;
    if (!typed.empty()) typed += ' ';
    typed += option.IsSwitch() && given.value == "no" ? "--no-" : "--";
    typed += option.name;
    if (!option.IsSwitch()) typed += " " + given.value;
  }

  void ReadFiles() {
    for (const std::size_t word : positional_) result_.request.files.push_back(words_[word]);
    if (result_.request.files.empty() && result_.errors.empty()) {
      Complain(text_.SpanOfEnd(), "no-file", std::string(result_.command->name) + " needs a file",
               "trainfit " + std::string(result_.command->example));
    }
  }

  void ReadModel() {
    const bool is_named = !result_.request.model.empty();  // by --model
    for (std::size_t i = is_named ? 0 : 1; i < positional_.size(); ++i) {
      Complain(text_.SpanOf(positional_[i]), "too-many-arguments",
               "one model at a time: " + Quoted(words_[positional_[i]]) + " is one word too many");
    }
    if (is_named || positional_.empty()) return;
    result_.request.model = words_[positional_[0]];
    result_.request.places.push_back({kModelPlace, text_.SpanOf(positional_[0])});
  }

  void CheckComplete() {
    const Command& command = *result_.command;
    const std::string name = command.name.empty() ? "trainfit" : std::string(command.name);
    if (result_.request.model.empty()) {
      Complain(text_.SpanOfEnd(), "no-model", name + " needs a model",
               "trainfit " + std::string(command.example));
    } else {
      CheckHardware();
    }
  }

  void CheckHardware() {
    const Command& command = *result_.command;
    if (!command.needs_on || !result_.request.on.empty() || !result_.errors.empty()) return;
    Complain(text_.SpanOfEnd(), "no-hardware", std::string(command.name) + " needs hardware",
             "--on rtx-4090");
  }

  const std::vector<std::string>& words_;
  const CommandText text_;
  Arguments result_;
  std::size_t at_ = 0;
  bool only_positional_ = false;
  std::vector<std::size_t> positional_;  // words that are no options
  std::vector<std::size_t> unknown_;     // words that look like options
  std::vector<Given> givens_;
};

}  // namespace

Arguments ParseArguments(const std::vector<std::string>& words) { return Parser(words).Parse(); }

}  // namespace trainfit::cli
