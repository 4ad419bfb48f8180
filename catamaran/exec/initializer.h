// exec/initializer.h
//
// What a param or var holds before anything was learned. The value is a function of the
// declaration, the State's seed and the path: the same bits on every machine and thread count.

#pragma once

#include <cstdint>

#include "catamaran/ir/program.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

// The initialisers: a number, `zeros`, `ones`, `constant(value)`, `normal(mean=0, std=1)`,
// `truncated_normal(mean=0, std=1, cut=2)`, `uniform(low=0, high=1)`, `xavier` (also `glorot`;
// uniform by default, `xavier(normal)` for the other), `he` (normal by default; `fan=in` or `out`),
// both with a `gain`, and `orthogonal(gain=1)`. Without one, a param gets xavier where it has two
// or more dimensions and zeros elsewhere; a var gets zeros. The fans of a matrix are its [in, out];
// of a convolution's [out, in, window…] the channels times the window.
//
// Throws an Error that begins with the declaration's line when the initialiser makes no sense.
Tensor InitialValue(const StateDecl& decl, uint64_t seed, const SourceTable& sources);

// The concrete shape of a param or var. Throws an Error at its line when a dimension is not an
// integer.
Shape StateShape(const StateDecl& decl, const SourceTable& sources);

}  // namespace catamaran
