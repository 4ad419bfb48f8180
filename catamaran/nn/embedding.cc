// embedding(rows, width): a dense table of vectors; its gradient is `rows`.

#include "catamaran/nn/layer.h"
#include "catamaran/nn/layers.h"

namespace catamaran {
namespace {

void BuildEmbedding(BuildContext& c) {
  const int64_t rows = SizeArg(c, "rows"), width = SizeArg(c, "width");
  const std::string w =
      c.Declare(StateKind::kParam, "w", Type::Tensor(DType::kF32, {rows, width}), c.arg("init"));
  Function& f = c.NewFunction();
  Value* ids = f.body().AddArg("ids", InputType(c, DType::kI64, 1, {Dim::Name("N")}));
  Emitter emit(c.program(), f, f.body());
  emit.SetLocation(c.at());
  Return(c, emit, emit.Emit("embedding", {emit.Read(w), emit.Wrap(ids)}));
}

}  // namespace

void AddEmbedding(BuilderSet& builders) {
  builders.Add({"embedding",
                "Rows of a dense matrix by number; only the rows that were used are updated. Owns "
                "w[rows, width].",
                {{"rows", StaticKind::kInt, {}, "number of rows", {}},
                 {"width", StaticKind::kInt, {}, "size of a row", {}},
                 {"init",
                  StaticKind::kAny,
                  Attr(AttrCall{"normal", {}, {{"std", 0.01}}, {}}),
                  "initial value of w",
                  {}},
                 RankParam(1, "ids"),
                 RaggedParam("[B, *T]")},
                BuildEmbedding});
}

}  // namespace catamaran
