#include "catamaran/ir/choose_kernel.h"

#include <deque>

#include "catamaran/base/error.h"
#include "catamaran/base/memory.h"
#include "catamaran/base/small_vector.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

size_t Align(size_t bytes) { return (bytes + kMemoryAlignment - 1) & ~(kMemoryAlignment - 1); }

bool HasHalf(std::span<Slot* const> slots) {
  for (const Slot* slot : slots) {
    if (slot->object == nullptr && IsHalf(slot->tensor.dtype)) return true;
  }
  return false;
}

// Copies of slots in which f16 and bf16 are f32.
struct WideSlots {
  explicit WideSlots(std::span<Slot* const> slots) {
    for (Slot* slot : slots) {
      if (!IsHalf(slot->tensor.dtype)) {
        pointers.push_back(slot);
        continue;
      }
      copies.push_back(*slot);
      copies.back().tensor.dtype = DType::kF32;
      pointers.push_back(&copies.back());
    }
  }
  std::deque<Slot> copies;
  std::vector<Slot*> pointers;
};

// A kernel that works in f32 around operands that do not.
struct Widened final : Prepared {
  KernelFn run = nullptr;
  std::unique_ptr<Prepared> inner;
  std::vector<size_t> places;  // of the copies in the scratch memory, in order
  size_t inner_scratch = 0;    // where the kernel's own begins
};

KernelStatus RunWidened(KernelContext& context) {
  const auto& widened = *static_cast<const Widened*>(context.prepared);
  auto* scratch = static_cast<std::byte*>(context.scratch);
  SmallVector<Slot, 8> copies;
  SmallVector<Slot*, 16> pointers;
  // Pointers into `copies` must stay.
  copies.reserve(widened.places.size());
  size_t next = 0;
  const auto widen = [&](Slot* slot) {
    if (!IsHalf(slot->tensor.dtype)) return slot;
    Slot wide = *slot;
    wide.tensor.dtype = DType::kF32;
    if (slot->tensor.data) wide.tensor.data = scratch + widened.places[next];
    ++next;
    copies.push_back(wide);
    return &copies[copies.size() - 1];
  };
  for (int i = 0; i < context.num_ins; ++i) {
    Slot* wide = widen(context.ins[i]);
    if (wide != context.ins[i] && wide->tensor.data) CastInto(context.ins[i]->tensor, wide->tensor);
    pointers.push_back(wide);
  }
  for (int i = 0; i < context.num_outs; ++i) pointers.push_back(widen(context.outs[i]));

  KernelContext inner = context;
  inner.ins = pointers.data();
  inner.outs = pointers.data() + context.num_ins;
  inner.prepared = widened.inner.get();
  inner.scratch = scratch + widened.inner_scratch;
  const KernelStatus status = widened.run(inner);
  CATAMARAN_CHECK(status == KernelStatus::kDone, "{} completes later and cannot be widened",
                  context.op->name());
  context.decided_size = inner.decided_size;
  for (int i = 0; i < context.num_outs; ++i) {
    const Slot* wide = inner.outs[i];
    if (wide != context.outs[i]) CastInto(wide->tensor, context.outs[i]->tensor);
  }
  return KernelStatus::kDone;
}

bool Supports(const Kernel& kernel, const KernelQuery& query) {
  return !kernel.supports || kernel.supports(query);
}

// Calls choose(query, only_half) with the operands as they are if a kernel takes them so, else with
// f32 in place of f16 and bf16. Returns whether it was the latter.
template <class F>
bool WithComputedTypes(KernelQuery query, F&& choose) {
  const OpDef& def = query.op->def();
  Words words;
  const bool half = CanWiden(def) && (HasHalf(query.in) || HasHalf(query.out));
  if (!half) {
    if (def.sizes) def.sizes(query, words);
    query.sizes = &words;
    choose(query, false);
    return false;
  }
  bool native = false;
  for (const Kernel& kernel : def.kernels) native |= kernel.half;
  if (native) {
    if (def.sizes) def.sizes(query, words);
    query.sizes = &words;
    if (choose(query, true)) return false;
  }
  const WideSlots in(query.in), out(query.out);
  query.in = in.pointers;
  query.out = out.pointers;
  query.sizes = nullptr;
  Words wide_words;
  if (def.sizes) def.sizes(query, wide_words);
  query.sizes = &wide_words;
  choose(query, false);
  return true;
}

}  // namespace

bool CanWiden(const OpDef& def) {
  const OpTraits& traits = def.traits;
  return !traits.effect && !traits.reads_state && !traits.structural && !traits.holds_operands &&
         !traits.mutates_first && !traits.alias_first;
}

ChosenKernel ChooseKernel(KernelQuery query, std::string_view preferred) {
  ChosenKernel chosen;
  const bool widened = WithComputedTypes(query, [&](const KernelQuery& computed, bool only_half) {
    for (const Kernel& kernel : computed.op->def().kernels) {
      if ((only_half && !kernel.half) || !Supports(kernel, computed)) continue;
      if (chosen.kernel == nullptr || kernel.name == preferred) chosen.kernel = &kernel;
      if (preferred.empty() || kernel.name == preferred) break;
    }
    if (chosen.kernel == nullptr) {
      if (only_half) return false;
      Fail(ErrorCode::kInvalidProgram, "no kernel supports these operands");
    }
    for (const Word& word : computed.sizes->list()) chosen.sizes.push_back(word.i);
    const Kernel& kernel = *chosen.kernel;
    chosen.run = kernel.run;
    if (kernel.prepare) chosen.prepared = kernel.prepare(computed);
    if (kernel.scratch) chosen.scratch = kernel.scratch(computed);
    return true;
  });
  if (!widened) return chosen;
  auto around = std::make_unique<Widened>();
  around->run = chosen.run;
  around->inner = std::move(chosen.prepared);
  size_t end = 0;
  for (const auto& slots : {query.in, query.out}) {
    for (const Slot* slot : slots) {
      if (!IsHalf(slot->tensor.dtype)) continue;
      around->places.push_back(end);
      end += Align(static_cast<size_t>(slot->size()) * sizeof(float));
    }
  }
  around->inner_scratch = end;
  chosen.scratch += end;
  chosen.prepared = std::move(around);
  chosen.run = RunWidened;
  return chosen;
}

std::vector<std::string_view> FittingKernels(KernelQuery query) {
  std::vector<std::string_view> names;
  WithComputedTypes(query, [&](const KernelQuery& computed, bool only_half) {
    for (const Kernel& kernel : computed.op->def().kernels) {
      if (only_half && !kernel.half) continue;
      if (Supports(kernel, computed)) names.push_back(kernel.name);
    }
    return !names.empty();
  });
  return names;
}

}  // namespace catamaran
