// serve/model/rows_apart.cc

#include "catamaran/serve/model/rows_apart.h"

#include <map>
#include <utility>

#include "catamaran/ir/emitter.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ops/matrix/ordered_gemm.h"
#include "catamaran/serve/model/row_pieces.h"
#include "catamaran/serve/model/user_sides.h"

namespace catamaran {
namespace {

constexpr const char* kInOrder = "matmul_in_order";
// A result with fewer columns is quicker by other code, and is soon done anyway.
constexpr int64_t kLeastColumns = 16;

bool HasOperand(const Op& op, int i) { return i < op.num_operands() && op.operand(i) != nullptr; }

class RowsApart {
 public:
  RowsApart(const Program& flat, const Function& function, const std::vector<bool>& is_user)
      : copy_(CloneFunction(function)), program_(CloneProgram(flat)), sides_(*copy_, is_user) {}

  std::unique_ptr<Function> Result() {
    for (Op* op : OpsOfBody(*copy_)) {
      Emitter emit(program_, *copy_, copy_->body(), op);
      emit.SetLocation(op->at);
      Var apart;
      if (op->Is("slice")) {
        apart = Slices(emit, *op);
      } else if (op->Is("factorization_machine")) {
        apart = Machine(emit, *op);
      } else if (IsProductOfRows(*op, kInOrder)) {
        apart = Products(emit, *op);
      }
      if (!apart) continue;
      op->result()->ReplaceAllUsesWith(apart.value());
      changed_ = true;
    }
    if (!changed_) return nullptr;
    EraseUnused(*copy_);
    return std::move(copy_);
  }

 private:
  bool IsUsers(const Value& value) const {
    const auto found = written_.find(&value);
    return found != written_.end() ? found->second : sides_.SideOf(value) == UserSide::kUser;
  }

  // Whether it is [B, F, …], put together along F of a user's part and an item's.
  bool IsOfBoth(const Value& value) const {
    if (value.type.rank() < 3 || !IsConcat(value, 1)) return false;
    bool users = false, items = false;
    for (int i = 0; i < value.def()->num_operands(); ++i) {
      (IsUsers(*value.def()->operand(i)) ? users : items) = true;
    }
    return users && items;
  }

  // Along an axis behind F.
  Var Slices(Emitter& emit, const Op& op) {
    const Value& x = *op.operand(0);
    const int64_t axis = op.attr("axis").AsInt();
    if (!IsOfBoth(x) || (axis < 0 ? axis + x.type.rank() : axis) < 2 || HasOperand(op, 1)) {
      return {};
    }
    std::vector<NamedAttr> attrs;
    for (const char* name : {"axis", "begin", "end", "size"}) {
      if (!op.attr(name).empty()) attrs.push_back({name, op.attr(name)});
    }
    std::vector<Var> parts;
    for (int i = 0; i < x.def()->num_operands(); ++i) {
      Value* part = x.def()->operand(i);
      parts.push_back(emit.Emit("slice", {emit.Wrap(part)}, attrs));
      written_[parts.back().value()] = IsUsers(*part);
    }
    return emit.Emit("concat", parts, {{"axis", 1}});
  }

  // The fields of one side in front, the others behind.
  Var Machine(Emitter& emit, const Op& op) {
    const Value& x = *op.operand(0);
    if (x.type.rank() != 3 || HasOperand(op, 1) || !IsOfBoth(x)) return {};
    std::vector<Var> first, more;
    for (int i = 0; i < x.def()->num_operands(); ++i) {
      Value* part = x.def()->operand(i);
      const bool same = more.empty() && IsUsers(*part) == IsUsers(*x.def()->operand(0));
      (same ? first : more).push_back(emit.Wrap(part));
    }
    return emit.Emit("factorization_machine", {Together(emit, first, 1), Together(emit, more, 1)});
  }

  // Pieces that stand side by side and are of one side are multiplied together. Sums begin with the
  // first columns: it saves something only if these are the user's.
  Var Products(Emitter& emit, const Op& op) {
    const std::vector<RowPiece> pieces = RowPiecesOf(op.operand(0));
    if (pieces.size() < 2 || HasOperand(op, 2) || !IsUsers(*pieces[0].value)) return {};
    if (sides_.SideOf(*op.operand(1)) != UserSide::kNeither) return {};
    const Var matrix = emit.Wrap(op.operand(1));
    Var sums;
    int64_t begin = 0;
    for (size_t i = 0; i < pieces.size();) {
      const bool users = IsUsers(*pieces[i].value);
      int64_t end = begin;
      std::vector<Var> columns;
      for (; i < pieces.size() && IsUsers(*pieces[i].value) == users; ++i) {
        columns.push_back(FlatRows(emit, pieces[i]));
        end += pieces[i].width;
      }
      if (i == pieces.size() && begin == 0) return {};  // all of them are the user's
      const Var rows = emit.Emit("slice", {matrix}, {{"axis", 0}, {"begin", begin}, {"end", end}});
      sums = emit.Emit(kInOrder, {Together(emit, columns, 1), rows, sums});
      begin = end;
    }
    return sums;
  }

  std::unique_ptr<Function> copy_;
  Program program_;  // what an Emitter writes for
  const UserSides sides_;
  std::map<const Value*, bool> written_;  // since, and whether it is the user's
  bool changed_ = false;
};

}  // namespace

std::unique_ptr<Function> OrderProducts(const Program& flat, const Function& function, Isa isa) {
  if (!HasOrderedGemm(isa)) return nullptr;
  std::unique_ptr<Function> copy = CloneFunction(function);
  Program program = CloneProgram(flat);
  bool changed = false;
  for (Op* op : OpsOfBody(*copy)) {
    if (!IsProductOfRows(*op, "matmul") || op->result()->type.dtype() != DType::kF32) continue;
    const Dim& columns = op->operand(1)->type.dim(1);
    if (!columns.is_constant() || columns.constant() < kLeastColumns) continue;
    if (RowPiecesOf(op->operand(0)).size() < 2) continue;
    Emitter emit(program, *copy, copy->body(), op);
    emit.SetLocation(op->at);
    const Var ordered = emit.Emit(kInOrder, {emit.Wrap(op->operand(0)), emit.Wrap(op->operand(1))});
    op->result()->ReplaceAllUsesWith(ordered.value());
    copy->body().Erase(op);
    changed = true;
  }
  return changed ? std::move(copy) : nullptr;
}

std::unique_ptr<Function> TakeRowsApart(const Program& flat, const Function& function,
                                        const std::vector<bool>& is_user) {
  return RowsApart(flat, function, is_user).Result();
}

}  // namespace catamaran
