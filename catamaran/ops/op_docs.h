// ops/op_docs.h
//
// What an op set says about itself, for people: the texts of `catamaran ops` and the page
// docs/ops.md, which is made from the definitions alone. Examples are the ops' first samples, run
// by their references.

#pragma once

#include <memory>
#include <string>

#include "catamaran/ir/op_set.h"

namespace catamaran {

// "softmax(x, axis=-1)".
std::string OpSignature(const OpDef& def);

// "a number; 1.0 unless given. What it is for."
std::string OpArgText(const ArgSpec& arg);

// "yes", or why there is none.
std::string OpGradientText(const OpDef& def);

// The whole page docs/ops.md.
std::string OpsMarkdown(const std::shared_ptr<const OpSet>& ops);

}  // namespace catamaran
