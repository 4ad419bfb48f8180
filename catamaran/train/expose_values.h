// train/expose_values.h
//
// A function with some of its inner values made visible: fetched as further results, or fed as
// further arguments in place of what the function would have computed.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "catamaran/ir/program.h"

namespace catamaran {

// `f` with its calls in place. Values are called by the names that they have in the program (of
// several, the first), and are not inside of a loop or branch. What is a result, or an argument,
// already stays so. An Error, with a suggestion, if there is none of that name.
std::unique_ptr<Function> ExposeValues(const Program& flat, const Function& f,
                                       std::span<const std::string> fetched,
                                       std::span<const std::string> fed);

}  // namespace catamaran
