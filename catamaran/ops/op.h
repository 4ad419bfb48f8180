// ops/op.h
//
// What the file of an op includes: the op set and its builder, what type rules and gradient
// rules see, formulas for elementwise ops, and makers of samples. docs/adding-an-op.md shows how
// they are used.

#pragma once

#include "catamaran/base/error.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ir/grad_context.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/ops/elementwise.h"
#include "catamaran/ops/samples.h"
#include "catamaran/tensor/dtype.h"
