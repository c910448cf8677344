#include "api/rules.h"

#include <vector>

#include "catalog/catalog.h"
#include "config/file_reader.h"
#include "validate/rules.h"

namespace trainfit::api {

Expected<RulesAnswer> Rules(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, config::ReadTextFile(file));
  ASSIGN_OR_RETURN(const std::vector<validate::Rule> rules, validate::ReadRules(file, text));
  ASSIGN_OR_RETURN(const std::vector<validate::RuleValue> values,
                   validate::ComputeRules(catalog::Catalog(), rules));
  return RulesAnswer{validate::RulesPage(rules, values), validate::RulesJson(rules, values)};
}

}  // namespace trainfit::api
