// Everything that a command line can say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/render.h"
#include "api/validation.h"
#include "base/diagnostic.h"

namespace trainfit::cli {

// Where an option's value stands on the command line.
struct Place {
  std::string_view option;  // its name in the table, or kModelPlace
  SourceSpan span;
};
inline constexpr std::string_view kModelPlace = "MODEL";

struct Request {
  std::vector<Place> places;
  std::string model;
  std::string on;
  spec::Recipe recipe;
  std::string typed;  // the options of the recipe as they were typed
  bool strict = false;
  bool json = false;
  bool explain = false;
  bool no_color = false;
  bool ascii = false;
  std::optional<int> width;
  // validate
  std::vector<std::string> files;
  std::vector<std::string> with;  // oom: configuration files
  std::string trace;              // fit: where the step's timeline is written; empty: nowhere
  std::string fix;                // check: where the smallest change is written; empty: nowhere
  std::optional<std::int64_t> other_figure;  // check: bytes that somebody else gives
  std::optional<api::GroupBy> by;
  std::int64_t worst = 0;
  std::string write_accuracy;  // a path; empty: nothing is written
  // the catalogue
  std::vector<std::string> words;    // filters, or what to do
  std::string catalog;               // a user's own file
  std::string sort;                  // a column
  std::vector<std::string> columns;  // empty: the usual ones
  bool csv = false;
  bool tensors = false;
  std::string adapter;
  std::string write;              // a path; empty: stdout
  std::string provider;           // of a price list
  std::optional<api::Date> date;  // of a price list
  bool help = false;
  bool version = false;
};

}  // namespace trainfit::cli
