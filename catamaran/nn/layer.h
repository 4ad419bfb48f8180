// nn/layer.h
//
// What the files of layers share: checked arguments, types of inputs, and writing a layer's
// function. A layer declares its state and makes its parts (other layers, under its own path),
// then says what its function computes:
//
//   void BuildTwice(BuildContext& c) {
//     const std::string fc = Part(c, "fc", "linear", {8, 8}, {{"bias", false}});
//     DefineLayer(c, [=](LayerBody& body) {
//       Var x = body.Arg("x", LeadingDims(DType::kF32, 2, {8}));
//       body.Return({body.Call(fc, {body.Call(fc, {x})})});
//     });
//   }

#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "catamaran/ir/builder_set.h"

namespace catamaran {

// [B, D1, …, last]: `rank` dimensions, named but for the last.
inline Type LeadingDims(DType dtype, int64_t rank, std::vector<Dim> last) {
  std::vector<Dim> dims;
  for (int64_t i = 0; i + static_cast<int64_t>(last.size()) < rank; ++i) {
    dims.push_back(Dim::Name(i == 0 ? "B" : fmt::format("D{}", i)));
  }
  dims.insert(dims.end(), last.begin(), last.end());
  return Type::Tensor(dtype, std::move(dims));
}

// [B, T, width], or with `ragged` [B, *T, width].
Type SequenceType(DType dtype, const Dim& width, bool ragged);

// The type of a layer's input as its arguments `rank` and `ragged` say it: LeadingDims, or
// [B, *T, last].
Type InputType(const BuildContext& c, DType dtype, int64_t least_rank, std::vector<Dim> last);
StaticParam RankParam(int64_t value, const char* of = "x");
StaticParam RaggedParam(const char* type = "[B, *T, …]");

// The rank argument, checked.
int64_t RankArg(const BuildContext& c, int64_t least);
// A size argument that must be positive.
int64_t SizeArg(const BuildContext& c, const char* name);
// A share of elements to drop, in [0, 1).
double DropoutArg(const BuildContext& c, const char* name);
// The name of an elementwise op of one argument; `none` too where that is allowed.
std::string ActivationArg(const BuildContext& c, const char* name, bool allow_none = false);
// A word that must be one of `choices`.
std::string ChoiceArg(const BuildContext& c, const char* name, std::vector<std::string> choices);

// Makes a part of the layer: the instance path().name. Returns its path.
std::string Part(BuildContext& c, std::string_view name, std::string builder,
                 std::vector<Attr> positional, std::vector<NamedAttr> named = {});
// A param of the layer; returns its path.
std::string Param(BuildContext& c, std::string_view name, std::vector<Dim> dims, Attr init);

// The function of a layer while it is written.
class LayerBody {
 public:
  LayerBody(BuildContext& c, Function& function, std::map<std::string, Attr> statics);

  Emitter& emit() { return emit_; }
  Var Arg(std::string name, Type type) {
    return emit_.Wrap(emit_.function().body().AddArg(std::move(name), std::move(type)));
  }
  Var Read(std::string_view state) { return emit_.Read(state); }
  Var Op(std::string_view name, std::initializer_list<Var> operands,
         std::vector<NamedAttr> attrs = {}) {
    return emit_.Emit(name, operands, std::move(attrs));
  }
  Var Op(std::string_view name, const std::vector<Var>& operands,
         std::vector<NamedAttr> attrs = {}) {
    return emit_.Emit(name, std::span<const Var>(operands), std::move(attrs));
  }
  Var Reshape(Var x, const std::vector<Dim>& dims) {
    return Op("reshape", {x}, {{"shape", Attr::Dims(dims)}});
  }
  Var Transpose(Var x, std::initializer_list<int64_t> axes) {
    return Op("transpose", {x}, {{"perm", Attr::Ints(axes)}});
  }
  // An elementwise op by name; `none` is x itself.
  Var Activate(const std::string& activation, Var x) {
    return activation == "none" ? x : Op(activation, {x});
  }
  // Drops elements where the function is made for training and the rate is above 0.
  Var Dropout(Var x, double rate);
  // Calls a part, or a function argument, with the static arguments that it shares with this one.
  Var Call(const std::string& part, std::initializer_list<Var> operands);
  bool training() const;

  void Return(std::initializer_list<Var> results);

 private:
  BuildContext& context_;
  std::map<std::string, Attr> statics_;
  Emitter emit_;
};

using WriteLayer = std::function<void(LayerBody&)>;

// The layer's function.
void DefineLayer(BuildContext& c, const WriteLayer& write);
// The same with the static argument `training`, false by default: `write` runs once for each value
// that calls ask for.
void DefineTrainableLayer(BuildContext& c, std::string doc, WriteLayer write);

// Ends `f` with one result.
inline void Return(BuildContext& c, Emitter& emit, Var result) {
  emit.EmitOp(emit.ops().Get("return"), {{result.value()}, {}, {}, {}, 0}, c.at());
  c.Finish(emit.function());
}

}  // namespace catamaran
