#include "catamaran/train/evaluation_form.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/flatten.h"

namespace catamaran {
namespace {

constexpr std::string_view kPure = ".pure";
constexpr std::string_view kSuffix = ".evaluation";

// "net[training=false].pure" for "net[training=true].pure"; empty for a function that was not
// specialised so.
std::string CounterpartOf(const std::string& name) {
  constexpr std::string_view kTraining = "training=true";
  for (size_t at = name.find(kTraining); at != name.npos; at = name.find(kTraining, at + 1)) {
    const char before = at > 0 ? name[at - 1] : ' ', after = name[at + kTraining.size()];
    if ((before != '[' && before != ' ') || (after != ']' && after != ',')) continue;
    return name.substr(0, at) + "training=false" + name.substr(at + kTraining.size());
  }
  return "";
}

class Deriver {
 public:
  explicit Deriver(Program& flat) : flat_(flat) {}

  std::string Derive(const std::string& name) {
    if (const auto known = derived_.find(name); known != derived_.end()) return known->second;
    derived_[name] = name;
    Function* const function = flat_.items.FindFunction(name);
    if (function == nullptr) return name;
    std::map<const Op*, std::string> changed;
    ForEachOp(function->body(), [&](Op& op) {
      if (!op.Is("call")) return;
      const std::string callee = Callee(op, name);
      if (callee != op.callee) changed[&op] = callee;
    });
    if (changed.empty()) return name;
    std::unique_ptr<Function> copy = CloneFunction(*function);
    copy->name = name + std::string(kSuffix);
    // Ops of a copy come in the order of the original.
    std::vector<std::string> callees;
    ForEachOp(function->body(), [&](Op& op) {
      const auto found = changed.find(&op);
      callees.push_back(found == changed.end() ? op.callee : found->second);
    });
    size_t next = 0;
    ForEachOp(copy->body(), [&](Op& op) { op.callee = callees[next++]; });
    return derived_[name] = flat_.items.Add(std::move(copy))->name;
  }

 private:
  std::string Callee(const Op& call, const std::string& caller) {
    const std::string counterpart = CounterpartOf(call.callee);
    if (counterpart.empty()) return Derive(call.callee);
    const bool pure = counterpart.ends_with(kPure);
    const std::string base =
        pure ? counterpart.substr(0, counterpart.size() - kPure.size()) : counterpart;
    if (flat_.items.FindFunction(base) == nullptr) {
      const std::string name = base.substr(0, base.find('['));
      Diagnostics diagnostics;
      diagnostics.Add(
          call.at,
          fmt::format("{} cannot be evaluated: it calls {}, and there is no {}; give its argument "
                      "training the default false, or write a function evaluate",
                      caller.substr(0, caller.rfind(kPure)),
                      call.callee.substr(0, call.callee.find(']') + 1), base),
          static_cast<uint32_t>(name.size()));
      diagnostics.ThrowIfAny(flat_.sources());
    }
    return Derive(FindOrDerive(flat_, counterpart).name);
  }

  Program& flat_;
  std::map<std::string, std::string> derived_;
};

}  // namespace

std::string WithoutTraining(Program& flat, const std::string& function) {
  if (function.empty()) return function;
  return Deriver(flat).Derive(function);
}

}  // namespace catamaran
