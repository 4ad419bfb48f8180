// serve/model/row_independence.h
//
// Whether rows of a function's arguments can be put together with others: each row of every result
// depends on the same row of the arguments alone, so that strangers' requests may share a run and
// a batch may be padded.
//
// It is decided from the program: all arguments and results have one named leading dimension, and
// every op on the way keeps it in front and computes each index of it by itself. Ops that are not
// known to do so (a softmax over the rows, a mean of them, a random number for each) make it "no";
// a wrong "no" costs batching, a wrong "yes" would be a wrong answer.

#pragma once

#include <string>

#include "catamaran/ir/program.h"

namespace catamaran {

struct RowIndependence {
  std::string rows;    // the name of the leading dimension; empty: rows cannot be put together
  std::string reason;  // then: why
};

// REQUIRES: `function` is typed and without calls (InlineCalls).
RowIndependence FindRowIndependence(const Function& function);

}  // namespace catamaran
