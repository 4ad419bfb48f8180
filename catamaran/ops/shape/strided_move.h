// ops/shape/strided_move.h
//
// Moving elements: for every index, one element goes from a place in x to a place in y, both
// given by a stride for each axis. Almost every op of this folder is one or a few such moves.

#pragma once

#include <memory>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/shape/strided_move_simd.h"

namespace catamaran {

struct StridedMove {
  static constexpr int kMaxAxes = 16;
  int rank = 0;
  int64_t dims[kMaxAxes] = {};
  int64_t from[kMaxAxes] = {};  // strides in elements; 0 repeats, negative goes backwards
  int64_t to[kMaxAxes] = {};    // never 0 where the dimension is more than 1

  void Axis(int64_t dim, int64_t from_stride, int64_t to_stride) {
    dims[rank] = dim;
    from[rank] = from_stride;
    to[rank++] = to_stride;
  }
};

// Carries the elements, of `width` bytes each, from x to y, which do not overlap. Splits large
// moves over the pool.
void Move(const StridedMove& move, size_t width, const void* x, void* y, const MoveKernels& kernels,
          ThreadPool* pool);

// Stretches of bytes, one in each of many rows.
struct RowPart {
  const char* x;
  char* y;
  int64_t x_row, y_row;  // bytes from one row to the next
  int64_t bytes;
};

// Several parts of the same rows: of one or a few rows all parts, then of the next, so that what
// they share passes through the cache once. Of two parts that overlap in y the order is not said.
void MoveRows(const RowPart* parts, int count, int64_t rows, const MoveKernels& kernels,
              ThreadPool* pool);

// Collects parts and moves them, many at a time.
class RowMover {
 public:
  RowMover(int64_t rows, const KernelContext& c, const MoveKernels& kernels)
      : rows_(rows), pool_(c.pool), kernels_(kernels) {}
  ~RowMover() { Flush(); }
  RowMover(const RowMover&) = delete;
  RowMover& operator=(const RowMover&) = delete;

  void Add(const RowPart& part) {
    if (part.bytes == 0) return;
    parts_[count_++] = part;
    if (count_ == kMany) Flush();
  }

 private:
  static constexpr int kMany = 64;
  void Flush() {
    MoveRows(parts_, count_, rows_, kernels_, pool_);
    count_ = 0;
  }

  RowPart parts_[kMany];
  int count_ = 0;
  int64_t rows_;
  ThreadPool* pool_;
  const MoveKernels& kernels_;
};

const MoveKernels& FindMoveKernels(Isa isa);

struct PreparedMoves : Prepared {
  const MoveKernels* kernels = nullptr;
};

// A kernel that finds its MoveKernels with MovesOf.
Kernel MoveKernel(std::string name, KernelFn run);

inline const MoveKernels& MovesOf(const KernelContext& c) {
  return *static_cast<const PreparedMoves*>(c.prepared)->kernels;
}

// Zeros, of all of a slot.
void ZeroBytes(const Slot& slot, ThreadPool* pool);

// All bytes of x to y, which is as large.
void CopyBytes(const Slot& x, const Slot& y, ThreadPool* pool);

}  // namespace catamaran
