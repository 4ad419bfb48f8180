// ir/op_shape.h
//
// Whether an op has the operands, states, attributes, results and blocks that its definition
// asks for. The parser and the emitter make no others; bytes from outside may. Types are not
// looked at.

#pragma once

#include <string>

#include "catamaran/ir/program.h"

namespace catamaran {

// What is wrong with the op itself and the ends of its blocks ("2 operands, wanted 1"), or
// nothing.
std::string OpShapeError(const Op& op);

// The same for a function's body: it ends in `return`.
std::string BodyShapeError(const Block& body);

}  // namespace catamaran
