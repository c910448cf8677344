#include "readers/configs/launch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/yaml_scalar.h"

namespace trainfit::readers {
namespace {

using config::Member;
using config::Node;
using config::NodeKind;

// A word as the value that YAML would see in it.
Node Typed(const Node& word) {
  Node node = word;
  const config::YamlScalar scalar = config::ResolveYamlScalar(word.text);
  node.kind = scalar.kind;
  node.boolean = scalar.boolean;
  node.integer = scalar.integer;
  node.real = scalar.real;
  return node;
}

Node EmptyObject(const std::vector<Node>& words) {
  Node object;
  object.kind = NodeKind::kObject;
  if (!words.empty()) object.document = words[0].document;
  return object;
}

std::string KeyOf(std::string_view option) {
  std::string key(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

void Set(Node& object, std::string key, const Node& at, Node value) {
  for (Member& member : object.members) {
    if (member.key != key) continue;
    member.value = std::move(value);
    return;
  }
  object.members.push_back({std::move(key), at.begin, at.end, std::move(value)});
}

Node Flag(const Node& at, bool value) {
  Node node = at;
  node.kind = NodeKind::kBool;
  node.boolean = value;
  return node;
}

bool IsOption(const Node& word) {
  return word.text.size() > 2 && word.text.starts_with("--") && word.text[2] != ' ';
}

std::string_view BaseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

struct ScriptRow {
  std::string_view name;  // of the file, or of the program and its command
  const Dialect& (*dialect)();
};

// Scripts and programs whose options are of one tool.
constexpr std::array kScripts = std::to_array<ScriptRow>({
    {"trl sft", Trl},
    {"sft.py", Trl},
    {"sft_trainer.py", Trl},
    {"llamafactory-cli train", LlamaFactory},
    {"train_bash.py", LlamaFactory},
    {"pretrain_gpt.py", Megatron},
    {"swift sft", Swift},
    {"swift pt", Swift},
    {"axolotl train", Axolotl},
    {"axolotl.cli.train", Axolotl},
    {"train_mem.py", Transformers},
    {"run_clm.py", Transformers},
    {"finetune.py", Transformers},
});

constexpr std::array<std::string_view, 12> kPrograms = {
    "torchrun", "accelerate", "deepspeed", "python", "python3", "llamafactory-cli",
    "trl",      "axolotl",    "srun",      "swift",  "tune",    "composer"};

// Options of launchers that take no value.
constexpr std::array<std::string_view, 12> kSwitches = {
    "multi_gpu", "use_deepspeed", "use_fsdp", "standalone", "no_python", "cpu",
    "mps",       "tpu",           "module",   "quiet",      "debug",     "same_network"};

class Line {
 public:
  explicit Line(const std::vector<Node>& words) : words_(words) {
    launch_.launcher = EmptyObject(words);
  }

  std::optional<Launch> Read() {
    while (at_ < words_.size() && Step()) {
    }
    if (launch_.script.empty()) return std::nullopt;
    launch_.options = OptionsOf(words_, at_);
    Configs();
    return std::move(launch_);
  }

 private:
  const std::string& Word(std::size_t i) const { return words_[i].text; }

  // One launcher, or the script at its end: then false.
  bool Step() {
    const std::string_view program = BaseName(Word(at_));
    const bool is_assignment = Word(at_).find('=') != std::string::npos && Word(at_)[0] != '-';
    if (is_assignment || program == "sudo" || program == "nohup" || program == "time" ||
        program == "env" || program == "CUDA_VISIBLE_DEVICES") {
      ++at_;
      return true;
    }
    if (program == "srun" || program == "mpirun") return SkipOptions(at_ + 1, false);
    if (program == "torchrun") return SkipOptions(at_ + 1, true);
    if (program == "deepspeed") return SkipOptions(at_ + 1, true);
    if (program == "accelerate" && at_ + 1 < words_.size() && Word(at_ + 1) == "launch") {
      return SkipOptions(at_ + 2, true);
    }
    if (program.starts_with("python")) return Python();
    return Script();
  }

  bool Python() {
    ++at_;
    if (at_ + 1 < words_.size() && Word(at_) == "-m") {
      const std::string& module = Word(at_ + 1);
      if (module == "torch.distributed.run" || module == "torch.distributed.launch") {
        return SkipOptions(at_ + 2, true);
      }
      if (module == "accelerate.commands.launch") return SkipOptions(at_ + 2, true);
      ++at_;
    } else if (at_ < words_.size() && Word(at_) == "-u") {
      ++at_;
    }
    return at_ < words_.size() && Script();
  }

  // A launcher's options, up to the first word that is none.
  bool SkipOptions(std::size_t first, bool keeps) {
    at_ = first;
    while (at_ < words_.size() && Word(at_).starts_with('-')) {
      const Node& option = words_[at_];
      const std::size_t equals = option.text.find('=');
      const std::string key = KeyOf(option.text.substr(0, equals));
      ++at_;
      if (equals != std::string::npos) {
        Node value = option;
        value.text = option.text.substr(equals + 1);
        if (keeps) SetLauncher(key, option, Typed(value));
      } else if (option.text == "-m") {
        return at_ < words_.size() && Script();
      } else if (std::find(kSwitches.begin(), kSwitches.end(), key) != kSwitches.end()) {
        if (keeps) SetLauncher(key, option, Flag(option, true));
      } else if (at_ < words_.size() && !Word(at_).starts_with("--")) {
        if (keeps) SetLauncher(key, option, Typed(words_[at_]));
        ++at_;
      }
    }
    return true;
  }

  // Options of launchers under the names of accelerate's file.
  void SetLauncher(const std::string& key, const Node& at, Node value) {
    if (key == "config_file" || key == "deepspeed_config_file") {
      launch_.files.push_back(std::move(value));
    } else if (key == "nproc_per_node" || key == "num_gpus") {
      if (value.kind == NodeKind::kInt) Set(launch_.launcher, "nproc_per_node", at, value);
    } else if (key == "nnodes" || key == "num_nodes" || key == "num_machines") {
      if (value.kind == NodeKind::kInt) Set(launch_.launcher, "num_machines", at, value);
    } else if (key == "num_processes" || key == "mixed_precision") {
      Set(launch_.launcher, key, at, std::move(value));
    } else if (key == "use_deepspeed" || key == "use_fsdp" || key == "multi_gpu") {
      Node type = at;
      type.text = key == "use_fsdp" ? "FSDP" : key == "multi_gpu" ? "MULTI_GPU" : "DEEPSPEED";
      Set(launch_.launcher, "distributed_type", at, std::move(type));
    } else if (key.starts_with("fsdp_") || key == "zero_stage" ||
               key.starts_with("offload_optimizer_device") ||
               key.starts_with("offload_param_device")) {
      Set(launch_.launcher, (key.starts_with("fsdp_") ? "fsdp_config." : "deepspeed_config.") + key,
          at, std::move(value));
    }
  }

  bool Script() {
    launch_.script = Word(at_);
    std::string_view name = BaseName(launch_.script);
    std::string both(name);
    if (at_ + 1 < words_.size()) both += " " + Word(at_ + 1);
    for (const ScriptRow& row : kScripts) {
      if (row.name != name && row.name != both) continue;
      launch_.dialect = &row.dialect();
      if (row.name == both) ++at_;
      launch_.script = row.name;
      break;
    }
    ++at_;
    return false;
  }

  // Files that the script is given: `--config x.yaml`, `llamafactory-cli train x.yaml`.
  void Configs() {
    const auto is_config = [](std::string_view text) {
      return text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
    };
    for (std::size_t i = at_; i < words_.size() && !words_[i].text.starts_with('-'); ++i) {
      if (is_config(words_[i].text)) launch_.files.push_back(words_[i]);
    }
    auto& members = launch_.options.members;
    for (auto member = members.begin(); member != members.end();) {
      const bool names_file = member->key == "config" && is_config(member->value.text);
      if (names_file) launch_.files.push_back(member->value);
      member = names_file ? members.erase(member) : member + 1;
    }
  }

  const std::vector<Node>& words_;
  std::size_t at_ = 0;
  Launch launch_;
};

// Bytes of `NAME` in a line that begins with "NAME=" and no space, as only a shell has it.
std::size_t AssignmentEnd(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && ((line[end] >= 'A' && line[end] <= 'Z') || line[end] == '_' ||
                               (end > 0 && line[end] >= '0' && line[end] <= '9'))) {
    ++end;
  }
  return end > 0 && end + 1 < line.size() && line[end] == '=' && line[end + 1] != ' ' ? end : 0;
}

bool StartsTraining(const std::vector<Node>& command) {
  for (const Node& word : command) {
    const std::string_view program = BaseName(word.text);
    if (std::find(kPrograms.begin(), kPrograms.end(), program) != kPrograms.end()) return true;
    if (word.text.find('=') == std::string::npos) return false;
  }
  return false;
}

}  // namespace

Node OptionsOf(const std::vector<Node>& words, std::size_t first) {
  Node object = EmptyObject(words);
  for (std::size_t i = first; i < words.size(); ++i) {
    const Node& option = words[i];
    if (!IsOption(option)) continue;
    const std::size_t equals = option.text.find('=');
    std::string key = KeyOf(option.text.substr(0, equals));
    if (equals != std::string::npos) {
      Node value = option;
      value.text = option.text.substr(equals + 1);
      Set(object, std::move(key), option, Typed(value));
      continue;
    }
    std::vector<Node> values;
    while (i + 1 < words.size() && !IsOption(words[i + 1])) values.push_back(Typed(words[++i]));
    if (values.empty()) {
      const bool is_off = key.starts_with("no_");
      Set(object, is_off ? key.substr(3) : key, option, Flag(option, !is_off));
    } else if (values.size() == 1) {
      Set(object, std::move(key), option, std::move(values[0]));
    } else {
      Node list = option;
      list.kind = NodeKind::kArray;
      list.text.clear();
      // Words of an array of the shell stand before the option that they are given to.
      list.end = std::max(option.end, values.back().end);
      list.items = std::move(values);
      Set(object, std::move(key), option, std::move(list));
    }
  }
  return object;
}

std::optional<Launch> FindLaunch(const std::vector<std::vector<Node>>& commands) {
  for (const std::vector<Node>& command : commands) {
    if (!StartsTraining(command)) continue;
    if (std::optional<Launch> launch = Line(command).Read()) return launch;
  }
  // Options alone, as people paste them.
  for (const std::vector<Node>& command : commands) {
    if (command.empty() || !IsOption(command[0])) continue;
    Launch launch;
    launch.launcher = EmptyObject(command);
    launch.options = OptionsOf(command, 0);
    return launch;
  }
  return std::nullopt;
}

bool LooksLikeCommand(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) continue;
    line.remove_prefix(begin);
    if (line.starts_with("#!")) return line.find("sh") != std::string_view::npos;
    if (line[0] == '#') continue;
    if (line.starts_with("--") && line.size() > 3 && line[2] != '-') return true;
    if (line.starts_with("export ") || line.starts_with("set -") || line.starts_with("$ ")) {
      return true;
    }
    if (AssignmentEnd(line) > 0) return true;
    const std::string_view word = BaseName(line.substr(0, line.find_first_of(" \t\\")));
    return std::find(kPrograms.begin(), kPrograms.end(), word) != kPrograms.end();
  }
  return false;
}

}  // namespace trainfit::readers
