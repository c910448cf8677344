// Writes data/ as C++ tables: embed_data DATA-FOLDER OUTPUT.cc
//
// Runs while the project is built. Every record is read by the reader that serves a user's own
// catalogue file, and its result stored (catalog/packed.h), beside the JSON itself for whoever
// wants all of it. Names are normalized and sorted, so that the program has nothing to do at its
// start.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/expected.h"
#include "catalog/kernel_rates.h"
#include "catalog/names.h"
#include "catalog/packed.h"
#include "catalog/records.h"
#include "config/file_reader.h"
#include "config/node.h"

namespace {

using trainfit::Diagnostic;
using trainfit::Diagnostics;
using trainfit::Error;
using trainfit::Expected;
using trainfit::Fail;
using trainfit::catalog::Kind;
using trainfit::catalog::NormalizeName;
using trainfit::config::GetString;
using trainfit::config::Node;

struct KindFiles {
  Kind kind;
  const char* folder;
};
constexpr KindFiles kKindFiles[] = {{Kind::kGpu, "gpus"},
                                    {Kind::kInstance, "instances"},
                                    {Kind::kLink, "links"},
                                    {Kind::kModel, "models"}};

struct Record {
  std::string id;
  std::string json;
  std::string packed;
  Node node;
};

struct NameRow {
  std::string name;
  std::size_t record;
  bool is_id;
  bool is_other;
  auto Order() const { return std::tie(name, record, is_other, is_id); }
};

std::string WithoutWhiteSpace(std::string_view json) {
  std::string small;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      small += c;
      if (c == '\\') small += json[++i];
      if (c == '"') in_string = false;
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      small += c;
      in_string = c == '"';
    }
  }
  return small;
}

// All texts in one literal; a text that was there before is not written again.
class TextPool {
 public:
  // C++ for the piece.
  std::string Piece(std::string_view text) {
    auto [place, is_new] = places_.try_emplace(std::string(text), size_);
    if (is_new) {
      size_ += text.size();
      literals_ += Literal(text) + "\n";
    }
    return "{" + std::to_string(place->second) + ", " + std::to_string(text.size()) + "}";
  }
  const std::string& literals() const { return literals_; }
  std::size_t size() const { return size_; }

 private:
  static std::string Literal(std::string_view text) {
    std::string literal = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        literal += '\\';
        literal += c;
      } else if (byte < 0x20 || byte >= 0x7f) {  // octal: three digits end by themselves
        literal += '\\';
        literal += static_cast<char>('0' + (byte >> 6));
        literal += static_cast<char>('0' + (byte >> 3 & 7));
        literal += static_cast<char>('0' + (byte & 7));
      } else {
        literal += c;
      }
    }
    return literal + "\"";
  }

  std::map<std::string, std::size_t> places_;
  std::string literals_;
  std::size_t size_ = 0;
};

// The record as the program will have it; empty for models.
Expected<std::string> PackRecord(Kind kind, const Node& node) {
  switch (kind) {
    case Kind::kGpu: {
      ASSIGN_OR_RETURN(const auto record, trainfit::catalog::ReadGpu(node));
      return trainfit::catalog::Pack(record);
    }
    case Kind::kInstance: {
      ASSIGN_OR_RETURN(const auto record, trainfit::catalog::ReadInstance(node));
      return trainfit::catalog::Pack(record);
    }
    case Kind::kLink: {
      ASSIGN_OR_RETURN(const auto record, trainfit::catalog::ReadLink(node));
      return trainfit::catalog::Pack(record);
    }
    case Kind::kModel: {
      ASSIGN_OR_RETURN(const auto record, trainfit::catalog::ReadModel(node));
      break;
    }
  }
  return std::string();
}

Expected<std::vector<Record>> ReadFolder(Kind kind, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::vector<Record> records;
  for (const auto& path : paths) {
    ASSIGN_OR_RETURN(Node node, trainfit::config::ReadJsonFile(path.string()));
    ASSIGN_OR_RETURN(std::string id, GetString(node, "id"));
    ASSIGN_OR_RETURN(std::string packed, PackRecord(kind, node));
    std::string json = WithoutWhiteSpace(node.document->text);
    records.push_back({std::move(id), std::move(json), std::move(packed), std::move(node)});
  }
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.id < b.id; });
  return records;
}

void AddName(Kind kind, std::string_view name, std::size_t record, bool is_id, bool is_other,
             std::vector<NameRow>* rows) {
  rows->push_back({NormalizeName(kind, name), record, is_id, is_other});
  const std::size_t slash = name.find('/');
  if (kind == Kind::kModel && slash != std::string_view::npos &&
      name.find('/', slash + 1) == std::string_view::npos) {
    rows->push_back({NormalizeName(kind, name.substr(slash + 1)), record, false, is_other});
  }
}

std::vector<NameRow> CollectNames(Kind kind, const std::vector<Record>& records) {
  std::vector<NameRow> rows;
  for (std::size_t i = 0; i < records.size(); ++i) {
    AddName(kind, records[i].id, i, true, false, &rows);
    for (const char* key : {"aliases", "device_names", "same_shapes"}) {
      const Node* names = records[i].node.Find(key);
      if (names == nullptr) continue;
      for (const Node& name : names->items) {
        AddName(kind, name.text, i, false, std::string_view(key) == "same_shapes", &rows);
      }
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const NameRow& a, const NameRow& b) { return a.Order() < b.Order(); });
  // One row a name and record: the id's, or the first.
  std::vector<NameRow> unique;
  for (const NameRow& row : rows) {
    if (!unique.empty() && unique.back().name == row.name && unique.back().record == row.record) {
      unique.back().is_id |= row.is_id;
    } else {
      unique.push_back(row);
    }
  }
  return unique;
}

Expected<std::size_t> PlaceOf(const std::vector<Record>& records, const std::string& id) {
  const auto found = std::lower_bound(
      records.begin(), records.end(), id,
      [](const Record& record, const std::string& key) { return record.id < key; });
  if (found == records.end() || found->id != id) {
    return Fail(Error("unknown-id", "no record is called " + id));
  }
  return static_cast<std::size_t>(found - records.begin());
}

struct Tables {
  TextPool pool;
  std::string rows;   // the tables of all kinds
  std::string kinds;  // the initialisers of EmbeddedData::kinds
  std::string meant;
  std::size_t meant_count = 0;
};

Expected<std::string> SharedRows(Kind kind, const Node* shared, const std::vector<Record>& records,
                                 Tables* tables) {
  std::map<std::string, std::string> by_name;
  if (shared == nullptr) return std::string();
  for (const Node& entry : shared->items) {
    ASSIGN_OR_RETURN(const std::string name, GetString(entry, "name"));
    ASSIGN_OR_RETURN(const std::string assumed,
                     trainfit::config::GetStringOr(entry, "assumed", ""));
    ASSIGN_OR_RETURN(const std::string why, trainfit::config::GetStringOr(entry, "why", ""));
    std::string assumed_place = "kNoRecord";
    if (!assumed.empty()) {
      ASSIGN_OR_RETURN(const std::size_t place, PlaceOf(records, assumed));
      assumed_place = std::to_string(place);
    }
    const std::size_t first = tables->meant_count;
    for (const Node& id : entry.Find("meant")->items) {
      ASSIGN_OR_RETURN(const std::size_t place, PlaceOf(records, id.text));
      tables->meant += std::to_string(place) + ", ";
      ++tables->meant_count;
    }
    const std::string key = NormalizeName(kind, name);
    by_name[key] = "    {" + tables->pool.Piece(key) + ", " + tables->pool.Piece(name) + ", " +
                   tables->pool.Piece(why) + ", " + assumed_place + ", " + std::to_string(first) +
                   ", " + std::to_string(tables->meant_count - first) + "},\n";
  }
  std::string rows;
  for (const auto& [name, row] : by_name) rows += row;
  return rows;
}

// `const T name[] = {rows};`, and an empty span where there are no rows.
std::string Table(const std::string& type, const std::string& name, const std::string& rows,
                  std::string* kinds) {
  if (rows.empty()) {
    *kinds += "{}, ";
    return "";
  }
  *kinds += name + ", ";
  return "constexpr " + type + " " + name + "[] = {\n" + rows + "};\n";
}

// Rows of data/calibration/, one for each compute capability.
Expected<std::string> RatesRows(const std::filesystem::path& folder, TextPool* pool) {
  std::map<std::string, std::string> rows;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    ASSIGN_OR_RETURN(const Node node, trainfit::config::ReadJsonFile(entry.path().string()));
    ASSIGN_OR_RETURN(const auto rates, trainfit::catalog::ReadKernelRates(node));
    const std::string packed = trainfit::catalog::Pack(rates);
    const Node* capabilities = node.Find("capabilities");
    if (capabilities == nullptr) continue;
    for (const Node& capability : capabilities->items) {
      rows[capability.text] =
          "    {" + pool->Piece(capability.text) + ", " + pool->Piece(packed) + "},\n";
    }
  }
  std::string text;
  for (const auto& [capability, row] : rows) text += row;
  return text;
}

Expected<std::string> Generate(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const Node shared,
                   trainfit::config::ReadJsonFile((folder / "shared_names.json").string()));
  Tables tables;
  std::vector<Record> gpus;
  for (const auto& [kind, name] : kKindFiles) {
    ASSIGN_OR_RETURN(const std::vector<Record> records, ReadFolder(kind, folder / name));
    if (kind == Kind::kGpu) gpus = records;
    std::string record_rows;
    for (const Record& record : records) {
      std::string gpu = "kNoRecord";
      if (kind == Kind::kInstance) {
        ASSIGN_OR_RETURN(const std::string gpu_id, GetString(record.node, "gpu"));
        ASSIGN_OR_RETURN(const std::size_t place, PlaceOf(gpus, gpu_id));
        gpu = std::to_string(place);
      }
      record_rows += "    {" + tables.pool.Piece(record.id) + ", " +
                     tables.pool.Piece(record.json) + ", " + tables.pool.Piece(record.packed) +
                     ", " + gpu + "},\n";
    }
    std::string name_rows;
    for (const NameRow& row : CollectNames(kind, records)) {
      name_rows += "    {" + tables.pool.Piece(row.name) + ", " + std::to_string(row.record) +
                   (row.is_id ? ", true" : ", false") +
                   (row.is_other ? ", true},\n" : ", false},\n");
    }
    ASSIGN_OR_RETURN(const std::string shared_rows,
                     SharedRows(kind, shared.Find(name), records, &tables));
    const std::string suffix = name;
    tables.kinds += "    EmbeddedKind{";
    tables.rows += Table("EmbeddedRecord", "k_records_" + suffix, record_rows, &tables.kinds);
    tables.rows += Table("EmbeddedName", "k_names_" + suffix, name_rows, &tables.kinds);
    tables.rows += Table("EmbeddedSharedName", "k_shared_" + suffix, shared_rows, &tables.kinds);
    tables.kinds += "},\n";
  }
  ASSIGN_OR_RETURN(const std::string rates_rows, RatesRows(folder / "calibration", &tables.pool));
  std::string rates;
  tables.rows += Table("EmbeddedRates", "k_rates", rates_rows, &rates);
  return "// Written by tools/embed_data.cc.\n#include \"catalog/embedded.h\"\n\n"
         "namespace trainfit::catalog {\nnamespace {\n\nconstexpr char k_text[] =\n" +
         tables.pool.literals() + ";\n" + tables.rows + "constexpr std::uint16_t k_meant[] = {" +
         tables.meant + "};\n\nconstexpr EmbeddedData k_data = {\n    {k_text, " +
         std::to_string(tables.pool.size()) + "},\n    {\n" + tables.kinds +
         "    },\n    k_meant,\n    " + rates +
         "\n};\n\n}  // namespace\n\n"
         "const EmbeddedData& Embedded() { return k_data; }\n\n}  // namespace trainfit::catalog\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: embed_data DATA-FOLDER OUTPUT.cc\n";
    return 2;
  }
  const Expected<std::string> text = Generate(argv[1]);
  if (!text) {
    for (const Diagnostic& diagnostic : text.error()) std::cerr << RenderText(diagnostic);
    return 1;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << *text;
  file.close();
  if (file) return 0;
  std::cerr << argv[2] << ": cannot be written\n";
  return 1;
}
