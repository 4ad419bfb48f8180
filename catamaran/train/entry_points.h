// train/entry_points.h
//
// The functions of a program that training uses, by their names: `train` learns, `infer` predicts,
// `evaluate` (or, without one, `loss.pure`) says how good that is. Arguments that `infer` lacks are
// labels, but for `weight`.

#pragma once

#include <string>
#include <vector>

#include "catamaran/ir/program.h"

namespace catamaran {

struct EntryPoints {
  std::string train = "train";
  std::string infer = "infer";  // empty: the program has none
  // Empty before FindEntryPoints: found by it. Empty after it: the program has none.
  std::string evaluate;
  std::vector<std::string> labels;
};

// Completes what the caller has named: an Error, with a suggestion, if there is no such function.
// `evaluate` is a function of that name, else `loss[training=false]`, else `loss`, without its
// commit region. What is derived is added to the program.
EntryPoints FindEntryPoints(Program& flat, EntryPoints wanted = {});

inline constexpr std::string_view kWeightArgument = "weight";

}  // namespace catamaran
