// Why a run was out of memory, and the ways out.
#pragma once

#include <string>
#include <vector>

#include "api/api.h"
#include "base/expected.h"
#include "report/oom.h"

namespace trainfit::api {

using report::Oom;
using report::OomJson;
using report::OomText;

struct OomRequest {
  std::string name;                // of the text, for messages
  std::string text;                // a log, a traceback, a message
  std::vector<std::string> files;  // the run's configuration, if there is one
  ModelQuery model;                // its name empty: as the files name it, or unknown
  std::string on;                  // hardware; empty: unknown
  spec::Recipe recipe;             // batch and length, when no file says them
  std::vector<std::string> catalog_files;
};

// The text of a regular file of at most 16 MiB, for OomRequest::text.
Expected<std::string> ReadLog(const std::string& path);

// Errors: no such message in the text; files, model or hardware that cannot be read.
Expected<Oom> ExplainOom(const OomRequest& request);

}  // namespace trainfit::api
