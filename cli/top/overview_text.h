// cli/top/overview_text.h
//
// What /v1/overview says (serve/wire/http/rest_overview.h), as lines of cells for a terminal.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace catamaran::cli {

// "catamaran 0.1, ready, up 3 min, 120 MB".
std::string ServerLine(const nlohmann::json& overview);

// A header, and a line for each version of a model. What is not known is "-".
std::vector<std::vector<std::string>> ModelLines(const nlohmann::json& overview);

// What is wrong: why a model could not be loaded, why one does not learn. Empty: nothing.
std::vector<std::string> ProblemLines(const nlohmann::json& overview);

}  // namespace catamaran::cli
