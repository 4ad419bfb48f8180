// serve/model/row_pieces.cc

#include "catamaran/serve/model/row_pieces.h"

#include "catamaran/ir/op_set.h"
#include "catamaran/serve/model/user_sides.h"

namespace catamaran {
namespace {

// How many elements a row has; 0 if the program does not know.
int64_t RowElements(const Type& type) {
  if (!type.is_tensor() || type.is_ragged() || type.rank() < 2) return 0;
  int64_t elements = 1;
  for (int axis = 1; axis < type.rank(); ++axis) {
    if (!type.dim(axis).is_constant()) return 0;
    elements *= type.dim(axis).constant();
  }
  return elements;
}

// False if a piece's width is not known.
bool AddPieces(Value* value, std::vector<RowPiece>& pieces) {
  Value* rows = value;
  // A flat view of rows has their elements in the same order.
  if (const Op* op = value->def(); op != nullptr && op->Is("reshape")) {
    const Type& from = op->operand(0)->type;
    if (from.is_tensor() && from.rank() > 1 && from.dim(0) == value->type.dim(0)) {
      rows = op->operand(0);
    }
  }
  if (IsConcat(*rows, 1)) {
    for (int i = 0; i < rows->def()->num_operands(); ++i) {
      if (!AddPieces(rows->def()->operand(i), pieces)) return false;
    }
    return true;
  }
  pieces.push_back({value, RowElements(value->type)});
  return pieces.back().width > 0;
}

}  // namespace

std::vector<RowPiece> RowPiecesOf(Value* value) {
  std::vector<RowPiece> pieces;
  if (!AddPieces(value, pieces)) pieces.clear();
  return pieces;
}

bool IsConcat(const Value& value, int64_t axis) {
  const Op* op = value.def();
  if (op == nullptr || !op->Is("concat") || value.type.is_ragged()) return false;
  const int64_t along = op->attr("axis").AsInt();
  return (along < 0 ? along + value.type.rank() : along) == axis;
}

Var Together(Emitter& emit, const std::vector<Var>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : emit.Emit("concat", parts, {{"axis", axis}});
}

Var FlatRows(Emitter& emit, const RowPiece& piece) {
  const Var x = emit.Wrap(piece.value);
  const Type& type = piece.value->type;
  if (type.rank() == 2) return x;
  const std::vector<Dim> flat = {type.dim(0), piece.width};
  return emit.Emit("reshape", {x}, {{"shape", Attr::Dims(flat)}});
}

bool IsProductOfRows(const Op& product, std::string_view op) {
  if (!product.Is(op)) return false;
  if (op == "matmul" &&
      (product.attr("transpose_a").AsBool() || product.attr("transpose_b").AsBool())) {
    return false;
  }
  const Type &a = product.operand(0)->type, &b = product.operand(1)->type;
  return a.is_tensor() && !a.is_ragged() && a.rank() == 2 && b.is_tensor() && b.rank() == 2;
}

void EraseUnused(Function& function) {
  const std::vector<Op*> ops = OpsOfBody(function);
  for (size_t i = ops.size(); i-- > 0;) {
    const bool kept = ops[i] == function.body().terminator() || ops[i]->def().traits.keep;
    if (!kept && !ops[i]->HasUses()) function.body().Erase(ops[i]);
  }
}

}  // namespace catamaran
