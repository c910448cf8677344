#include "api/node_json.h"

namespace trainfit::api {

void WriteNode(const config::Node& node, JsonWriter* json) {
  switch (node.kind) {
    case config::NodeKind::kNull:
      json->Null();
      return;
    case config::NodeKind::kBool:
      json->Bool(node.boolean);
      return;
    case config::NodeKind::kInt:
      json->Int(node.integer);
      return;
    case config::NodeKind::kDouble:
      json->Double(node.real);
      return;
    case config::NodeKind::kString:
      json->String(node.text);
      return;
    case config::NodeKind::kArray:
      json->BeginArray();
      for (const config::Node& item : node.items) WriteNode(item, json);
      json->EndArray();
      return;
    case config::NodeKind::kObject:
      json->BeginObject();
      for (const config::Member& member : node.members) {
        json->Key(member.key);
        WriteNode(member.value, json);
      }
      json->EndObject();
      return;
  }
}

}  // namespace trainfit::api
