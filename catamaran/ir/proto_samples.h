// ir/proto_samples.h
//
// Programs for the tests and the fuzzer of the protobuf form, and a small op set for them. They
// hold everything that a program can hold; proto_samples_test.cc makes them.

#pragma once

#include <memory>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran::testing {

// The structural ops and a few others.
inline std::shared_ptr<const OpSet> ProtoSampleOps() {
  auto ops = std::make_shared<OpSet>();
  ops->Define("relu").In("x");
  ops->Define("add").In("a").In("b");
  ops->Define("less").In("a").In("b");
  ops->Define("concat").VariadicIn("parts").RequiredAttr("axis", AttrKind::kInt);
  ops->Define("split").In("x").Results(2);
  ops->Define("lookup").StateArg("table").In("ids").OptionalIn("weights").WordAttr(
      "pool", {"none", "sum"}, "none");
  OpTraits effect;
  effect.effect = true;
  ops->Define("observe").StateArg("table").In("ids").OptionalIn("click").Results(0).Traits(effect);
  OpTraits open;
  open.open_attrs = true;
  ops->Define("anything").Traits(open);
  return ops;
}

// As written: all kinds of items, attributes, control flow, a commit region, an import.
Program ProtoSampleAsWritten();

// Flat: types of all kinds, run-time checks, locations with frames.
Program ProtoSampleFlat();

}  // namespace catamaran::testing
