// Replacing calls by what they call.

#include <fmt/format.h>

#include <map>

#include "catamaran/base/error.h"
#include "catamaran/ir/call_binding.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/infer.h"
#include "catamaran/ir/source_frames.h"

namespace catamaran {
namespace {

class Inliner {
 public:
  Inliner(const Program& program, Function& function) : program_(program), function_(function) {}

  void Run() {
    MarkKeys(function_.body(), "");
    count_ = static_cast<int64_t>(CountOps(function_.body()));
    std::vector<Op*> calls = Calls(function_.body());
    // A callee's calls are found when its ops are in place; regions follow in call order.
    while (!calls.empty()) {
      Op* call = calls.back();
      calls.pop_back();
      std::vector<Op*> inner = Expand(*call);
      for (auto it = inner.rbegin(); it != inner.rend(); ++it) calls.push_back(*it);
    }
    if (!regions_.empty()) AppendRegions();
  }

 private:
  // Last first, so that the back of the list is the next in program order.
  static std::vector<Op*> Calls(const Block& body) {
    std::vector<Op*> calls = ProgramOrderCalls(body);
    return {calls.rbegin(), calls.rend()};
  }

  static std::vector<Op*> ProgramOrderCalls(const Block& body) {
    std::vector<Op*> calls;
    for (Op* op = body.first(); op; op = op->next()) CollectCalls(*op, calls);
    return calls;
  }

  static void CollectCalls(Op& op, std::vector<Op*>& calls) {
    if (op.Is("call")) calls.push_back(&op);
    for (auto& block : op.blocks) {
      for (Op* inner = block->first(); inner; inner = inner->next()) CollectCalls(*inner, calls);
    }
  }

  // A key is a function of the call path: the ordinals of the calls that led to it and its own
  // ordinal in its function.
  void MarkKeys(Block& body, const std::string& prefix) {
    int64_t ordinal = 0;
    ForEachOp(body, [&](Op& op) {
      if (op.Is("key") && op.attr("path").empty()) {
        op.SetAttr("path", Attr(fmt::format("{}{}", prefix, ordinal++)));
      } else if (op.Is("call")) {
        call_paths_[&op] = fmt::format("{}{}:{}/", prefix, ordinal++, op.callee);
      }
    });
  }

  std::vector<Op*> Expand(Op& call) {
    const Function* callee = program_.items.FindFunction(call.callee);
    CATAMARAN_CHECK(callee && callee->typed);
    Diagnostics diagnostics;
    InferContext c(program_, function_, call, diagnostics);
    std::optional<DimBinding> binding = BindCall(c, *callee);
    diagnostics.ThrowIfAny(program_.sources());

    auto replace = [&](const std::string& name) -> std::optional<Dim> {
      auto it = binding->find(name);
      if (it == binding->end()) it = binding->emplace(name, c.FreshDim()).first;
      return it->second;
    };
    ValueMap map;
    for (int i = 0; i < callee->num_params(); ++i) map[callee->param(i)] = call.operand(i);
    Block staging;
    CloneOpsInto(callee->body(), staging, map);

    SourceTable& sources = program_.sources();
    FrameAppender behind_call(sources, sources.AddFrame(CallFrame(call.callee), call.at));
    ForEachOp(staging, [&](Op& op) {
      op.at = behind_call.Behind(op.at);
      for (NamedAttr& a : op.attrs) a.value = a.value.SubstituteDims(replace);
      for (int i = 0; i < op.num_results(); ++i) {
        op.result(i)->type = op.result(i)->type.Substitute(replace);
      }
      for (auto& block : op.blocks) {
        for (int i = 0; i < block->num_args(); ++i) {
          block->arg(i)->type = block->arg(i)->type.Substitute(replace);
        }
      }
      ++count_;
    });
    if (count_ > kMaxInlinedOps) {
      throw ProgramError({{call.at,
                           1,
                           fmt::format("{} grows past {} ops when its calls are expanded",
                                       function_.name, kMaxInlinedOps),
                           {}}},
                         program_.sources());
    }
    for (const DimCheck& check : callee->checks) {
      Location at = check.at;
      at = behind_call.Behind(at);
      function_.checks.push_back(
          {check.left.Substitute(replace), check.right.Substitute(replace), at, check.what});
    }
    MarkKeys(staging, call_paths_[&call]);

    std::vector<Op*> inner = ProgramOrderCalls(staging);
    Op* end = staging.terminator();
    CATAMARAN_CHECK(end != nullptr);
    for (int i = 0; i < call.num_results(); ++i) {
      Value* to = end->operand(i);
      if (to->name.empty() && to->def() && !call.result(i)->name.empty()) {
        to->name = call.result(i)->name;
      }
      call.result(i)->ReplaceAllUsesWith(to);
    }
    staging.Erase(end);
    Block& parent = *call.parent();
    while (Op* op = staging.first()) {
      std::unique_ptr<Op> owned = staging.Remove(op);
      if (op->Is("commit")) {
        regions_.push_back(std::move(owned));
      } else {
        parent.Insert(std::move(owned), &call);
      }
    }
    call_paths_.erase(&call);
    parent.Erase(&call);
    return inner;
  }

  void AppendRegions() {
    Block* region = function_.commit_region();
    if (!region) {
      auto op = std::make_unique<Op>(program_.ops().Get("commit"), function_.at);
      region = op->AddBlock();
      function_.body().Insert(std::move(op), function_.body().terminator());
    }
    for (auto& owned : regions_) {
      Block& from = *owned->blocks[0];
      while (Op* op = from.first()) region->Insert(from.Remove(op));
    }
    regions_.clear();
  }

  const Program& program_;
  Function& function_;
  std::map<const Op*, std::string> call_paths_;
  std::vector<std::unique_ptr<Op>> regions_;
  int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Function> InlineCalls(const Program& flat, const Function& f) {
  std::unique_ptr<Function> copy = CloneFunction(f);
  Inliner(flat, *copy).Run();
  return copy;
}

}  // namespace catamaran
