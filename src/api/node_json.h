// A tree that was read from a file, written again.
#pragma once

#include "base/json_writer.h"
#include "config/node.h"

namespace trainfit::api {

void WriteNode(const config::Node& node, JsonWriter* json);

}  // namespace trainfit::api
