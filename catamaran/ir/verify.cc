#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_set>

#include "catamaran/base/error.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/infer.h"

namespace catamaran {
namespace {

class Verifier {
 public:
  Verifier(const Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

  void Run() {
    if (!program_.flat) {
      diagnostics_.Add({}, "only a flat program can be verified");
      return;
    }
    for (const Item& item : program_.items.list()) {
      if (auto* f = std::get_if<std::unique_ptr<Function>>(&item)) {
        CheckFunction(**f);
        declared_.insert((*f)->name);
      } else if (!std::get_if<std::unique_ptr<StateDecl>>(&item)) {
        diagnostics_.Add({}, "a flat program holds only states and functions");
      }
      if (diagnostics_.full()) return;
    }
  }

 private:
  // Every write of a function with all that it calls, in order.
  struct Write {
    std::string state;
    Location at;
    std::string op;
  };

  void CheckFunction(const Function& f) {
    function_ = &f;
    visible_.clear();
    visible_.reserve(CountOps(f.body()) + f.num_params());
    for (int i = 0; i < f.num_params(); ++i) {
      visible_.insert(f.param(i));
      if (!f.param(i)->type) {
        diagnostics_.Add(f.at, fmt::format("argument {} has no type", f.param(i)->name));
      }
    }
    std::vector<Write> writes;
    CheckBlock(f.body(), f.body(), 0, writes);
    Op* end = f.body().terminator();
    if (!end || !end->Is("return")) {
      diagnostics_.Add(f.at, fmt::format("{} has no return", f.name));
    }
    CheckWrites(writes);
    writes_[f.name] = std::move(writes);
  }

  void CheckBlock(const Block& block, const Block& body, int depth, std::vector<Write>& writes) {
    constexpr int kMaxDepth = 1000;
    if (depth > kMaxDepth) {
      diagnostics_.Add(block.parent_op()->at, fmt::format("blocks nest deeper than {}", kMaxDepth));
      return;
    }
    std::vector<const Value*> added;
    auto add = [&](const Value* v) {
      visible_.insert(v);
      added.push_back(v);
    };
    for (int i = 0; i < block.num_args(); ++i) add(block.arg(i));
    const bool in_region = block.parent_op() && block.parent_op()->Is("commit");
    for (Op* op = block.first(); op; op = op->next()) {
      CheckOp(*op, block, body, in_region, writes);
      for (const auto& nested : op->blocks) CheckBlock(*nested, body, depth + 1, writes);
      if (!op->blocks.empty() && !op->Is("commit")) {
        for (const auto& nested : op->blocks) {
          if (!nested->terminator() || !nested->terminator()->Is("yield")) {
            Report(*op, "a block has no yield");
          }
        }
      }
      for (int i = 0; i < op->num_results(); ++i) {
        if (!op->result(i)->type) Report(*op, "a result has no type");
        add(op->result(i));
      }
      if (diagnostics_.full()) return;
    }
    if (&block != &body) {
      for (const Value* v : added) visible_.erase(v);
    }
  }

  void CheckOp(const Op& op, const Block& block, const Block& body, bool in_region,
               std::vector<Write>& writes) {
    for (int i = 0; i < op.num_operands(); ++i) {
      if (op.operand(i) && !visible_.contains(op.operand(i))) {
        Report(op, fmt::format("operand {} is used before it is computed", i));
      }
    }
    const OpTraits& t = op.def().traits;
    if (t.terminator && &op != block.last()) Report(op, "ends the block before its last op");
    if (t.effect && !in_region) {
      Report(op, "changes state in a loop or branch; yield the value out and change it at the end");
    }
    if (in_region && !t.effect) Report(op, "only effects may stand in a commit region");
    if (op.Is("commit") && (&block != &body || !op.next() || !op.next()->Is("return"))) {
      Report(op, "the commit region must stand at the end of the function, before its return");
    }
    if (t.effect && !op.states.empty() && !op.Is("observe") && !op.Is("send")) {
      AddWrites(op, writes);
    }
    if (op.Is("call")) CheckCall(op, block, body, writes);
  }

  void AddWrites(const Op& op, std::vector<Write>& writes) {
    // `update` writes its slots too; `average` only reads what it averages.
    for (const std::string& s : op.states) {
      writes.push_back({s, op.at, op.name()});
      if (op.Is("average")) break;
    }
  }

  void CheckCall(const Op& op, const Block& block, const Block& body, std::vector<Write>& writes) {
    if (op.callee == function_->name) {
      Report(op, "calls itself; recursion is not supported");
      return;
    }
    if (!declared_.contains(op.callee)) {
      const Function* later = program_.items.FindFunction(op.callee);
      // A pure variant is derived after its callers; the function it comes from is not.
      if (later && later->name.ends_with(".pure")) return;
      Report(op, later ? "is used before its definition (a function may not call itself through "
                         "another)"
                       : "there is no such function");
      return;
    }
    const std::vector<Write>& inner = writes_[op.callee];
    const Function* callee = program_.items.FindFunction(op.callee);
    const bool effects = !inner.empty() || (callee && callee->commit_region());
    if (effects && &block != &body) {
      Report(op, fmt::format("changes state in a loop or branch; call {}.pure there, or yield the "
                             "value out",
                             op.callee));
    }
    for (const Write& w : inner) writes.push_back(w);
  }

  void CheckWrites(const std::vector<Write>& writes) {
    std::map<std::string, const Write*> seen;
    for (const Write& w : writes) {
      auto [it, first] = seen.try_emplace(w.state, &w);
      if (first) continue;
      const StateDecl* decl = program_.items.FindState(w.state);
      if (decl && decl->kind == StateKind::kVar && !FindAttr(decl->settings, "merge").empty()) {
        continue;
      }
      Diagnostic& d = diagnostics_.Add(
          w.at,
          fmt::format("{}: @{} is written twice in one run of {}", w.op, w.state, function_->name));
      d.notes.push_back({"first", program_.sources().ToString(it->second->at)});
      d.notes.push_back({"again", program_.sources().ToString(w.at)});
    }
  }

  void Report(const Op& op, std::string message) {
    const std::string& shown = op.Is("call") ? op.callee : op.name();
    diagnostics_.Add(op.at, shown + ": " + std::move(message), static_cast<uint32_t>(shown.size()));
  }

  const Program& program_;
  Diagnostics& diagnostics_;
  const Function* function_ = nullptr;
  std::unordered_set<const Value*> visible_;
  std::set<std::string> declared_;
  std::map<std::string, std::vector<Write>> writes_;
};

// The types that a stored program claims must be those that its ops' rules give.
void CheckTypes(const Program& program, Diagnostics& diagnostics) {
  for (const Function* f : program.Functions()) {
    std::unique_ptr<Function> copy = CloneFunction(*f);
    copy->checks.clear();
    for (Op* op = copy->body().first(); op && !diagnostics.full(); op = op->next()) {
      InferOp(program, *copy, *op, diagnostics);
    }
    if (!diagnostics.empty()) return;
    std::string why;
    if (!Equal(*f, *copy, &why)) {
      diagnostics.Add(f->at,
                      fmt::format("{}: the types do not follow from its ops: {}", f->name, why));
    }
  }
}

}  // namespace

void Verify(const Program& flat, Diagnostics& diagnostics) { Verifier(flat, diagnostics).Run(); }

void VerifyOrThrow(const Program& flat) {
  Diagnostics diagnostics;
  Verify(flat, diagnostics);
  if (diagnostics.empty()) CheckTypes(flat, diagnostics);
  diagnostics.ThrowIfAny(flat.sources());
}

}  // namespace catamaran
