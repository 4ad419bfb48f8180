// serve/model/split_products.cc

#include "catamaran/serve/model/split_products.h"

#include <algorithm>

#include "catamaran/ir/emitter.h"
#include "catamaran/serve/model/row_pieces.h"
#include "catamaran/serve/model/user_sides.h"

namespace catamaran {
namespace {

// The sum of products of one side's pieces with their rows of the matrix.
class SideProduct {
 public:
  SideProduct(Emitter& emit, Var matrix) : emit_(emit), matrix_(matrix) {}

  void Add(const RowPiece& piece, int64_t begin) {
    columns_.push_back(FlatRows(emit_, piece));
    rows_.push_back(emit_.Emit("slice", {matrix_},
                               {{"axis", 0}, {"begin", begin}, {"end", begin + piece.width}}));
  }
  Var Result() {
    return emit_.Emit("matmul", {Together(emit_, columns_, 1), Together(emit_, rows_, 0)});
  }

 private:
  Emitter& emit_;
  const Var matrix_;
  std::vector<Var> columns_, rows_;
};

}  // namespace

std::unique_ptr<Function> SplitProducts(const Program& flat, const Function& function,
                                        const std::vector<bool>& is_user) {
  std::unique_ptr<Function> copy = CloneFunction(function);
  Program program = CloneProgram(flat);  // what an Emitter writes for
  bool changed = false;
  const UserSides sides(*copy, is_user);
  for (Op* op : OpsOfBody(*copy)) {
    if (!IsProductOfRows(*op, "matmul") && !IsProductOfRows(*op, "matmul_in_order")) continue;
    if (sides.SideOf(*op->operand(1)) != UserSide::kNeither) continue;
    const std::vector<RowPiece> pieces = RowPiecesOf(op->operand(0));
    Emitter emit(program, *copy, copy->body(), op);
    emit.SetLocation(op->at);
    SideProduct user(emit, emit.Wrap(op->operand(1))), item(emit, emit.Wrap(op->operand(1)));
    const auto is_users = [&](const RowPiece& p) {
      return sides.SideOf(*p.value) == UserSide::kUser;
    };
    const auto users = std::count_if(pieces.begin(), pieces.end(), is_users);
    if (users == 0 || users == std::ssize(pieces)) continue;
    int64_t begin = 0;
    for (const RowPiece& piece : pieces) {
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
