// ir/printer.h
//
// Programs as text that parses back: Equal(Parse(Print(p)), p), and printing that again gives
// the same text. Temporaries that are used once stand inside the expression that uses them,
// where that keeps the order of evaluation; others are printed as `%1 = …`.
//
// A name that the text cannot say (used twice in one place, reserved, not a word) gets a
// number behind it; everything else is printed as it is.
//
// Thread safety: reads the program only.

#pragma once

#include <string>

#include "catamaran/ir/program.h"

namespace catamaran {

struct PrintOptions {
  bool types = false;  // the types of values, as comments behind their lines
};

std::string Print(const Program& program, const PrintOptions& options = {});
std::string Print(const Function& function, const Program& program,
                  const PrintOptions& options = {});

}  // namespace catamaran
