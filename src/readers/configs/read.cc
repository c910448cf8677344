#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/file_reader.h"
#include "config/json_reader.h"
#include "config/shell_words.h"
#include "config/yaml_reader.h"
#include "readers/configs/launch.h"
#include "readers/configs/python.h"
#include "readers/configs/reading.h"

namespace trainfit::readers {
namespace {

using config::Node;
using config::NodeKind;

// One object of keys with the dialect that they are in.
struct Piece {
  std::string path;
  const Dialect* dialect = nullptr;
  Node root;
  Syntax syntax = Syntax::kYaml;
};

constexpr std::size_t kMaxFiles = 64;

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// False as well when a link leads out of the folder.
bool IsBelow(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path base = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) return false;
  const fs::path target = fs::canonical(path, error);
  if (error) return false;
  return std::mismatch(base.begin(), base.end(), target.begin(), target.end()).first == base.end();
}

bool IsJson(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return begin != std::string_view::npos && text[begin] == '{';
}

// Tools whose files are told but not read yet; empty: none of them.
std::string_view UnreadTool(const Node& root) {
  if (CountKeys(root, {"device_train_microbatch_size", "max_seq_len", "fsdp_config"}) >= 2 ||
      root.Find("variables") != nullptr) {
    return "llm-foundry";
  }
  for (const config::Member& member : root.members) {
    if (member.value.Find("_component_") != nullptr) return "torchtune";
  }
  return {};
}

// A section in brackets at the beginning, as TOML has it and YAML does not.
bool IsToml(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    return line.size() > 2 && line[0] == '[' && line.back() == ']' &&
           line.find_first_of(",:\"'") == std::string_view::npos;
  }
  return false;
}

const Dialect* Detect(const Node& root) {
  const Dialect* best = nullptr;
  int best_score = 1;  // one common word proves nothing
  for (const Dialect* dialect : Dialects()) {
    const int score = dialect->score(root);
    if (score <= best_score) continue;
    best_score = score;
    best = dialect;
  }
  return best;
}

class Files {
 public:
  Files(bool may_open, const std::vector<NamedText>& instead)
      : may_open_(may_open), instead_(instead) {}

  void Know(const std::string& path) { given_.push_back(path); }

  Expected<bool> Add(const std::string& path, std::string text) {
    if (LooksLikeCommand(text)) return AddCommand(path, std::move(text));
    if (!IsJson(text) && LooksLikePython(text)) return AddPython(path, std::move(text));
    if (IsToml(text)) {
      return Fail(ErrorAt({path}, "not-read", "TOML files (torchtitan) are not read yet",
                          "trainfit fit MODEL --on HARDWARE with its settings"));
    }
    const bool is_json = IsJson(text);
    Expected<Node> root = is_json ? config::ParseJson(path, std::move(text))
                                  : config::ParseYaml(path, std::move(text));
    if (!root.has_value()) return Fail(std::move(root).error());
    if (root->kind != NodeKind::kObject) {
      return Fail(ErrorAt(root->Span(), "not-a-config",
                          "this is no configuration: keys with values were expected"));
    }
    if (std::optional<std::string> code = CodeOfNotebook(*root)) {
      if (LooksLikePython(*code)) return AddPython(path, std::move(*code));
      return Fail(ErrorAt(root->Span(), "notebook",
                          "this notebook has no training arguments; its code is not run",
                          "its training arguments as a file, one `key: value` a line"));
    }
    if (const std::string_view tool = UnreadTool(*root); !tool.empty()) {
      return Fail(ErrorAt({path}, "not-read", fmt::format("files of {} are not read yet", tool),
                          "trainfit fit MODEL --on HARDWARE with its settings"));
    }
    const Dialect* dialect = Detect(*root);
    if (dialect == nullptr) return Fail(NoDialect(*root));
    return AddPiece({path, dialect, std::move(*root), is_json ? Syntax::kJson : Syntax::kYaml});
  }

  Expected<std::string> Read(const std::string& path) const {
    for (const NamedText& text : instead_) {
      if (text.name == path) return text.text;
    }
    return config::ReadTextFile(path);
  }

  std::vector<Piece>& pieces() { return pieces_; }

 private:
  static Diagnostic NoDialect(const Node& root) {
    Diagnostic problem =
        ErrorAt(root.Span(), "unknown-dialect", "these keys are of no tool that is known here");
    problem.span.length = 1;
    std::string tools;
    for (const Dialect* dialect : Dialects()) {
      tools += (tools.empty() ? "" : ", ") + std::string(dialect->title);
    }
    problem.notes.push_back("known: " + tools + ", and launch lines of them");
    return problem;
  }

  Expected<bool> AddPython(const std::string& path, std::string text) {
    ASSIGN_OR_RETURN(PythonArguments arguments, ReadPython(path, std::move(text)));
    return AddPiece({path, arguments.dialect, std::move(arguments.root), Syntax::kPython});
  }

  Expected<bool> AddCommand(const std::string& path, std::string text) {
    ASSIGN_OR_RETURN(const auto commands, config::ParseShellWords(path, std::move(text)));
    std::optional<Launch> launch = FindLaunch(commands);
    if (!launch) {
      return Fail(ErrorAt({path}, "no-launch", "no command in this file starts a training",
                          "the line with torchrun, accelerate launch, deepspeed, trl, …"));
    }
    for (const Node& file : launch->files) {
      ASSIGN_OR_RETURN([[maybe_unused]] const bool was_added, Follow(path, file));
    }
    if (!launch->launcher.members.empty()) {
      pieces_.push_back({path, &Accelerate(), std::move(launch->launcher), Syntax::kCommand});
    }
    if (launch->options.members.empty()) return true;
    const Dialect* dialect = launch->dialect != nullptr ? launch->dialect : Detect(launch->options);
    // Options that override those of a file which the line names.
    if (dialect == nullptr && !pieces_.empty()) {
      for (const Piece& piece : pieces_) {
        if (piece.dialect->IsTrainer()) dialect = piece.dialect;
      }
    }
    if (dialect == nullptr) return Fail(NoDialect(launch->options));
    return AddPiece({path, dialect, std::move(launch->options), Syntax::kCommand});
  }

  Expected<bool> AddPiece(Piece piece) {
    if (pieces_.size() >= kMaxFiles) {
      return Fail(Error("too-many-files", fmt::format("more than {} files", kMaxFiles)));
    }
    // Partner files that are named by a key, or stand inside it.
    std::vector<Node> named;
    std::vector<Node> inside;
    for (const std::string_view key : {"deepspeed", "deepspeed_config_file"}) {
      const Node* value = piece.root.Find(key);
      if (const Node* block = piece.root.Find("deepspeed_config");
          value == nullptr && block != nullptr) {
        value = block->Find(key);
      }
      if (value == nullptr) continue;
      // A word without a point is a configuration that comes with the tool.
      const bool is_file =
          value->kind == NodeKind::kString && value->text.find('.') != std::string::npos;
      if (is_file) named.push_back(*value);
      if (value->kind == NodeKind::kObject && key == "deepspeed") inside.push_back(*value);
    }
    const std::string path = piece.path;
    const Syntax syntax = piece.syntax;
    pieces_.push_back(std::move(piece));
    for (Node& node : inside) pieces_.push_back({path, &DeepSpeed(), std::move(node), syntax});
    for (const Node& node : named) {
      ASSIGN_OR_RETURN([[maybe_unused]] const bool was_added, Follow(path, node));
    }
    return true;
  }

  // Opens a file that another one names, when it lies beside or below that one.
  Expected<bool> Follow(const std::string& from, const Node& name) {
    const std::string base = BaseName(name.text);
    for (const std::string& path : given_) {
      if (BaseName(path) == base) return false;  // it was given, or is read already
    }
    const bool is_outside = name.text.starts_with('/') || name.text.starts_with('~') ||
                            name.text.find("..") != std::string::npos ||
                            name.text.find('$') != std::string::npos;
    const std::string path = FolderOf(from) + name.text;
    Expected<std::string> text = is_outside || !may_open_ || !IsBelow(FolderOf(from), path)
                                     ? Fail(Error("outside", ""))
                                     : Read(path);
    if (!text.has_value()) {
      return Fail(ErrorAt(name.Span(), "no-partner",
                          fmt::format("{} is not beside this file: it decides about memory as well",
                                      Quoted(name.text)),
                          "the path of " + CutToWidth(base, 60) + " as a further FILE"));
    }
    given_.push_back(path);
    return Add(path, std::move(*text));
  }

  const bool may_open_;
  const std::vector<NamedText>& instead_;
  std::vector<std::string> given_;
  std::vector<Piece> pieces_;
};

const Dialect* TrainerOf(const std::vector<Piece>& pieces, Draft& draft) {
  const Dialect* trainer = nullptr;
  for (const Piece& piece : pieces) {
    if (!piece.dialect->IsTrainer() || piece.dialect == trainer) continue;
    if (trainer != nullptr) {
      Diagnostic problem = ErrorAt({piece.path}, "two-trainers",
                                   fmt::format("this file is of {}, another of {}: a run has one",
                                               piece.dialect->title, trainer->title));
      draft.Complain(std::move(problem));
    }
    trainer = piece.dialect;
  }
  return trainer;
}

Expected<ConfigReading> PutTogether(const std::vector<Piece>& pieces) {
  Draft draft;
  ConfigReading reading;
  std::vector<const Dialect*> order;
  for (const Piece& piece : pieces) {
    ReadFile file{piece.path, piece.dialect, piece.syntax, ""};
    if (piece.root.document != nullptr) file.text = piece.root.document->text;
    reading.files.push_back(std::move(file));
    if (std::find(order.begin(), order.end(), piece.dialect) == order.end()) {
      order.push_back(piece.dialect);
    }
  }
  // Files of one tool together: its defaults are filled in when all of them have spoken.
  for (const Dialect* dialect : order) {
    for (const Piece& piece : pieces) {
      if (piece.dialect == dialect) ApplyRows(*dialect, piece.root, draft);
    }
    if (dialect->finish != nullptr) dialect->finish(draft);
  }
  const Dialect* trainer = TrainerOf(pieces, draft);
  Conclude(draft, trainer, reading);
  if (!draft.problems().empty()) return Fail(std::move(draft.problems()));
  reading.keys = std::move(draft.keys());
  reading.filled_in = std::move(draft.filled_in());
  reading.warnings = std::move(draft.warnings());
  return reading;
}

}  // namespace

Expected<ConfigReading> ReadConfigs(const std::vector<std::string>& paths,
                                    const std::vector<NamedText>& instead) {
  Files files(true, instead);
  for (const std::string& path : paths) files.Know(path);
  Diagnostics problems;
  for (const std::string& path : paths) {
    Expected<std::string> text = files.Read(path);
    Expected<bool> added = text.has_value() ? files.Add(path, std::move(*text))
                                            : Expected<bool>(Fail(std::move(text).error()));
    if (added.has_value()) continue;
    for (Diagnostic& problem : added.error()) problems.push_back(std::move(problem));
  }
  if (!problems.empty()) return Fail(std::move(problems));
  return PutTogether(files.pieces());
}

Expected<ConfigReading> ReadConfigTexts(const std::vector<NamedText>& texts) {
  Files files(false, texts);
  for (const NamedText& text : texts) files.Know(text.name);
  for (const NamedText& text : texts) {
    ASSIGN_OR_RETURN([[maybe_unused]] const bool was_added, files.Add(text.name, text.text));
  }
  return PutTogether(files.pieces());
}

}  // namespace trainfit::readers
