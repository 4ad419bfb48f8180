// cli/show.h
//
// The forms in which `catamaran show` prints a flat program: graph and JSON. Text is
// ir/printer.h.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catamaran/ir/program.h"
#include "cli/cost.h"

namespace catamaran::cli {

// A function to show and, where it was asked for, what its ops cost.
struct ShownFunction {
  const Function* function = nullptr;
  const CostTable* cost = nullptr;
};

// A graph for Graphviz: one cluster a function, ops as nodes, values as edges.
std::string ToDot(const Program& flat, const std::vector<ShownFunction>& functions);

// All that the program says, for tools. The form is described in cli/README.md.
nlohmann::ordered_json ToJson(const Program& flat, const std::vector<ShownFunction>& functions,
                              bool with_states);

// A table: line, op, result, how often, operations, bytes.
std::string CostText(const Program& flat, const Function& function, const CostTable& cost);

}  // namespace catamaran::cli
