// serve/model/split_products.cc

#include "catamaran/serve/model/split_products.h"

#include <algorithm>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/serve/model/user_sides.h"

namespace catamaran {
namespace {

// Some columns of the rows that are multiplied.
struct Piece {
  Value* value = nullptr;  // [B, width], or of another shape with as many elements a row
  int64_t width = 0;
};

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

bool IsConcatOfRows(const Op& op) {
  if (!op.Is("concat")) return false;
  const int64_t axis = op.attr("axis").AsInt(), rank = op.result()->type.rank();
  return (axis < 0 ? axis + rank : axis) == 1;
}

// What rows of `value`, flat, are put together of. False if a part's width is not known.
bool TakeApart(Value* value, std::vector<Piece>& pieces) {
  const Op* op = value->def();
  // A flat view of rows has their elements in the same order.
  if (op != nullptr && op->Is("reshape") && op->operand(0)->type.is_tensor() &&
      op->operand(0)->type.rank() > 1 && op->operand(0)->type.dim(0) == value->type.dim(0)) {
    op = op->operand(0)->def();
  }
  if (op != nullptr && IsConcatOfRows(*op)) {
    for (int i = 0; i < op->num_operands(); ++i) {
      if (!TakeApart(op->operand(i), pieces)) return false;
    }
    return true;
  }
  pieces.push_back({value, RowElements(value->type)});
  return pieces.back().width > 0;
}

bool IsProductOfRows(const Op& op) {
  if (!op.Is("matmul") || op.attr("transpose_a").AsBool() || op.attr("transpose_b").AsBool()) {
    return false;
  }
  const Type &a = op.operand(0)->type, &b = op.operand(1)->type;
  return a.is_tensor() && !a.is_ragged() && a.rank() == 2 && b.is_tensor() && b.rank() == 2;
}

// The sum of products of one side's pieces with their rows of the matrix.
class SideProduct {
 public:
  SideProduct(Emitter& emit, Var matrix) : emit_(emit), matrix_(matrix) {}

  void Add(const Piece& piece, int64_t begin) {
    Var x = emit_.Wrap(piece.value);
    const Type& type = piece.value->type;
    if (type.rank() != 2) {
      const std::vector<Dim> flat = {type.dim(0), piece.width};
      x = emit_.Emit("reshape", {x}, {{"shape", Attr::Dims(flat)}});
    }
    columns_.push_back(x);
    rows_.push_back(emit_.Emit("slice", {matrix_},
                               {{"axis", 0}, {"begin", begin}, {"end", begin + piece.width}}));
  }
  Var Result() { return emit_.Emit("matmul", {Together(columns_, 1), Together(rows_, 0)}); }

 private:
  Var Together(const std::vector<Var>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : emit_.Emit("concat", parts, {{"axis", axis}});
  }

  Emitter& emit_;
  const Var matrix_;
  std::vector<Var> columns_, rows_;
};

void EraseUnused(Function& function) {
  const std::vector<Op*> ops = OpsOfBody(function);
  for (size_t i = ops.size(); i-- > 0;) {
    const bool kept = ops[i] == function.body().terminator() || ops[i]->def().traits.keep;
    if (!kept && !ops[i]->HasUses()) function.body().Erase(ops[i]);
  }
}

}  // namespace

std::unique_ptr<Function> SplitProducts(const Program& flat, const Function& function,
                                        const std::vector<bool>& is_user) {
  std::unique_ptr<Function> copy = CloneFunction(function);
  Program program = CloneProgram(flat);  // what an Emitter writes for
  bool changed = false;
  const UserSides sides(*copy, is_user);
  for (Op* op : OpsOfBody(*copy)) {
    if (!IsProductOfRows(*op) || sides.SideOf(*op->operand(1)) != UserSide::kNeither) continue;
    std::vector<Piece> pieces;
    if (!TakeApart(op->operand(0), pieces)) continue;
    Emitter emit(program, *copy, copy->body(), op);
    emit.SetLocation(op->at);
    SideProduct user(emit, emit.Wrap(op->operand(1))), item(emit, emit.Wrap(op->operand(1)));
    const auto is_users = [&](const Piece& p) { return sides.SideOf(*p.value) == UserSide::kUser; };
    const auto users = std::count_if(pieces.begin(), pieces.end(), is_users);
    if (users == 0 || users == std::ssize(pieces)) continue;
    int64_t begin = 0;
    for (const Piece& piece : pieces) {
      (is_users(piece) ? user : item).Add(piece, begin);
      begin += piece.width;
    }
    const Var users_part = user.Result();
    op->result()->ReplaceAllUsesWith(emit.Emit("add", {item.Result(), users_part}).value());
    changed = true;
  }
  if (!changed) return nullptr;
  EraseUnused(*copy);
  return copy;
}

}  // namespace catamaran
