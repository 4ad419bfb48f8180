// train/entry_points.cc

#include "catamaran/train/entry_points.h"

#include "catamaran/ir/flatten.h"

namespace catamaran {
namespace {

constexpr std::string_view kPure = ".pure";

const Function* ParamsOf(const Program& flat, const std::string& name) {
  return name.empty() ? nullptr : flat.items.FindFunction(name);
}

bool Takes(const Function& f, const std::string& argument) {
  for (int i = 0; i < f.num_params(); ++i) {
    if (f.param(i)->name == argument) return true;
  }
  return false;
}

// `f`, or `f.pure` if it has a region or calls something that has.
std::string Pure(Program& flat, const std::string& name) {
  if (name.ends_with(kPure)) return FindOrDerive(flat, name).name;
  const Function& f = FindOrDerive(flat, name);
  if (InferEffects(flat, f).writes.empty() && f.commit_region() == nullptr) return f.name;
  return FindOrDerive(flat, f.name + std::string(kPure)).name;
}

bool Has(const Program& flat, std::string_view name) {
  for (const Function* f : flat.Functions()) {
    if (f->name == name || f->name.starts_with(std::string(name) + "[")) return true;
  }
  return false;
}

}  // namespace

EntryPoints FindEntryPoints(Program& flat, EntryPoints wanted) {
  EntryPoints found;
  found.train = wanted.train.empty() ? "" : FindOrDerive(flat, wanted.train).name;
  if (wanted.infer != "infer" || Has(flat, wanted.infer)) {
    if (!wanted.infer.empty()) found.infer = Pure(flat, wanted.infer);
  }
  if (!wanted.evaluate.empty()) {
    found.evaluate = Pure(flat, wanted.evaluate);
  } else {
    for (const char* name : {"evaluate", "loss[training=false]", "loss"}) {
      if (!Has(flat, name)) continue;
      found.evaluate = FindOrDerive(flat, FindOrDerive(flat, name).name + std::string(kPure)).name;
      break;
    }
  }
  const Function* infer = ParamsOf(flat, found.infer);
  const Function* labelled = ParamsOf(flat, found.evaluate);
  if (labelled == nullptr) labelled = ParamsOf(flat, found.train);
  if (infer == nullptr || labelled == nullptr) return found;
  for (int i = 0; i < labelled->num_params(); ++i) {
    const std::string& name = labelled->param(i)->name;
    if (name != kWeightArgument && !Takes(*infer, name)) found.labels.push_back(name);
  }
  return found;
}

}  // namespace catamaran
