// ir/proto_samples.h
//
// Programs for the tests and the fuzzer of the protobuf form, and a small op set for them. They
// hold everything that a program can hold; proto_samples_test.cc makes them.

#pragma once

#include <memory>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran::testing {

// The structural ops and a few others. The golden files use them, so none may change.
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

// linear, grad, clip and adam, which build nothing.
inline void AddProtoSampleBuilders(BuilderSet& set) {
  const auto none = [](BuildContext&) {};
  const auto param = [](const char* name, StaticKind kind) {
    return StaticParam{name, kind, Attr(), "", {}};
  };
  set.Add({"linear", "", {param("in", StaticKind::kInt), param("out", StaticKind::kInt)}, none});
  for (const char* name : {"grad", "clip", "adam"}) {
    set.Add({name,
             "",
             {param("f", StaticKind::kFunction), param("norm", StaticKind::kAny),
              param("lr", StaticKind::kAny), param("betas", StaticKind::kAny),
              param("name", StaticKind::kAny), param("wrt", StaticKind::kAny),
              param("dtype", StaticKind::kAny)},
             none});
  }
}

// As written: all kinds of items, attributes, control flow, a commit region, an import.
Program ProtoSampleAsWritten();

// Flat: types of all kinds, run-time checks, locations with frames.
Program ProtoSampleFlat();

}  // namespace catamaran::testing
