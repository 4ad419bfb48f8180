// ir/kernel.h
//
// What the executor and a kernel know of each other. A kernel is chosen once per op and
// binding of shapes, may prepare for those shapes, and is then a plain function call on slots.
//
// Thread safety: `run` may be called on many threads at once with different contexts; what
// `prepare` made is read-only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/tensor/tensor_view.h"

namespace catamaran {

class Allocator;
class Op;
class Table;
class ThreadPool;
struct TableObservation;
struct TablePush;

// A value while a function runs: where it is and how large it is this time.
struct Slot {
  TensorView tensor;  // data, dtype, storage shape; data null: an optional operand left out
  // Of a ragged value: offsets[0 … num_rows]; sequence i is [offsets[i], offsets[i+1]).
  const int64_t* offsets = nullptr;
  int64_t num_rows = 0;
  void* object = nullptr;  // of rows and stacks: RowsValue (tensor/rows_value.h), StackValue

  template <class T>
  T* data() const {
    return static_cast<T*>(tensor.data);
  }
  const Shape& shape() const { return tensor.shape; }
  int64_t size() const { return tensor.shape.num_elements(); }
};

// One 8-byte field of a reference's struct of sizes and attributes.
struct Word {
  enum class Kind : uint8_t { kInt, kDouble } kind;
  union {
    int64_t i;
    double d;
  };
};

class Words {
 public:
  Words& operator<<(int64_t v) {
    Word w{Word::Kind::kInt, {}};
    w.i = v;
    list_.push_back(w);
    return *this;
  }
  Words& operator<<(int v) { return *this << static_cast<int64_t>(v); }
  Words& operator<<(bool v) { return *this << static_cast<int64_t>(v); }
  Words& operator<<(double v) {
    Word w{Word::Kind::kDouble, {}};
    w.d = v;
    list_.push_back(w);
    return *this;
  }
  std::span<const Word> list() const { return list_; }

  // Fills a struct whose members are all int64_t or double, in order.
  template <class Sizes>
  Sizes As() const {
    static_assert(sizeof(Sizes) % 8 == 0);
    Sizes s{};
    const size_t n = std::min(sizeof(Sizes) / 8, list_.size());
    for (size_t k = 0; k < n; ++k) std::memcpy(reinterpret_cast<char*>(&s) + 8 * k, &list_[k].i, 8);
    return s;
  }

 private:
  std::vector<Word> list_;
};

// What is known of an op before it runs: types, attributes and concrete shapes.
struct KernelQuery {
  const Op* op = nullptr;
  std::span<Slot* const> in;  // shapes are set, data is not
  std::span<Slot* const> out;
  const Words* sizes = nullptr;  // null while `sizes` itself is being computed
  Isa isa = Isa::kPlain;
};

// Made by `prepare`, kept with the shapes it was made for.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

// What a run offers to its kernels. Lives as long as the run.
class RunServices {
 public:
  virtual ~RunServices() = default;
  // The table of states[i] of the op, to look rows up.
  virtual Table* table(const Op& op, int state_index) = 0;
  // Storage of a param or var: for reading or, where an effect is applied, for writing in place.
  virtual TensorView state(const Op& op, int state_index) = 0;

  // --- While an effect is prepared (OpDef::prepare_effect).
  // Part of what the step does to the table of states[i]. What it points at stays for the run.
  virtual void Observe(const Op& op, int state_index, const TableObservation& seen) = 0;
  virtual void Push(const Op& op, int state_index, const TablePush& push) = 0;
  // Nothing of this step is applied: the run ends as one that a guard refused.
  virtual void Refuse(const Op& op, const std::string& why) = 0;

  // --- While an effect is applied, from any thread of the pool.
  // So many rows or parameters keep the values they have, because the next ones are not finite.
  virtual void CountUnwritten(int64_t count) = 0;

  virtual uint64_t seed() const = 0;
  virtual int64_t step() const = 0;        // committed steps before this run
  virtual int64_t event_time() const = 0;  // the only clock that tables see
  virtual bool cancelled() const = 0;
  virtual Allocator& allocator() = 0;
};

class KernelContext;

enum class KernelStatus : uint8_t { kDone, kPending };

// Returns kPending when it will call context.Complete() (or Fail) later, from any thread,
// exactly once; its context stays valid until then. Errors are thrown, or given to Fail.
using KernelFn = KernelStatus (*)(KernelContext&);

class KernelContext {
 public:
  Slot* const* ins = nullptr;
  Slot* const* outs = nullptr;
  int num_ins = 0;
  int num_outs = 0;
  const Op* op = nullptr;
  const void* sizes_data = nullptr;  // the struct of sizes, filled
  const Prepared* prepared = nullptr;
  void* scratch = nullptr;  // as many bytes as the kernel's `scratch` asked for
  ThreadPool* pool = nullptr;
  RunServices* run = nullptr;
  // Of an op with a size_bound (ir/op_set.h): where it writes the offsets of its ragged result,
  // num_rows + 1 of them (null when that is not ragged), and the size that it has found.
  int64_t* new_offsets = nullptr;
  int64_t decided_size = -1;
  void (*complete)(KernelContext&, std::exception_ptr) = nullptr;  // the executor's
  // Of an effect: what its preparation leaves for its kernel. Kept from step to step, so that the
  // steady state allocates nothing.
  std::shared_ptr<Prepared> prepared_effect;

  const Slot& in(int i) const { return *ins[i]; }
  const Slot& out(int i = 0) const { return *outs[i]; }
  bool has_in(int i) const {
    return i < num_ins && ins[i] && (ins[i]->tensor.data || ins[i]->object);
  }
  template <class S>
  const S& sizes() const {
    return *static_cast<const S*>(sizes_data);
  }
  // The `?` of the results' types is this. Once a run, before the kernel returns.
  void DecideSize(int64_t size) { decided_size = size; }
  void Complete() { complete(*this, nullptr); }
  void Fail(std::exception_ptr error) { complete(*this, std::move(error)); }
};

struct Kernel {
  std::string name;                                  // "reference", "vector", "onednn", "openblas"
  std::function<bool(const KernelQuery&)> supports;  // null: always
  std::function<std::unique_ptr<Prepared>(const KernelQuery&)> prepare;  // null: nothing to do
  std::function<size_t(const KernelQuery&)> scratch;                     // null: none
  KernelFn run = nullptr;
  // Takes f16 and bf16 as they are. Around other kernels they are widened to f32 and rounded.
  bool half = false;
};

}  // namespace catamaran
