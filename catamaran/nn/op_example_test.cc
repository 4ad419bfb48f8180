// The examples of ops that no sample can show are programs.

#include <gtest/gtest.h>

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran {
namespace {

TEST(OpExamples, AreProgramsThatUseTheOp) {
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  int examples = 0;
  for (const OpDef* def : ops->All()) {
    if (def->example.empty()) continue;
    SCOPED_TRACE(def->name);
    ++examples;
    const Program flat = Flatten(
        Parse("program example\n" + def->example, def->name + ".ctm", ops, *builders), *builders);
    bool used = false;
    for (const Function* function : flat.Functions()) {
      ForEachOp(function->body(), [&](Op& op) { used = used || op.Is(def->name); });
    }
    EXPECT_TRUE(used);
  }
  EXPECT_GT(examples, 20);
}

}  // namespace
}  // namespace catamaran
