#include "catamaran/ops/shape/strided_move.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace catamaran {
namespace {

struct Loop {
  int64_t count, from, to;  // strides in bytes
};

struct Loops {
  Loop list[StridedMove::kMaxAxes + 1];
  int size = 0;
  int64_t width = 0;  // of an element, in bytes
};

// The loops with more than one step, the largest steps in y first, neighbours joined where both
// sides go on where the inner one ends.
Loops Canonical(const StridedMove& move, int64_t width) {
  Loops loops;
  loops.width = width;
  for (int i = 0; i < move.rank; ++i) {
    if (move.dims[i] == 1) continue;
    const Loop loop = {move.dims[i], move.from[i] * width, move.to[i] * width};
    int at = loops.size++;
    while (at > 0 && std::abs(loops.list[at - 1].to) < std::abs(loop.to)) {
      loops.list[at] = loops.list[at - 1];
      --at;
    }
    loops.list[at] = loop;
  }
  int kept = 0;
  for (int i = 1; i < loops.size; ++i) {
    Loop& outer = loops.list[kept];
    const Loop& inner = loops.list[i];
    if (outer.from == inner.from * inner.count && outer.to == inner.to * inner.count) {
      outer = {outer.count * inner.count, inner.from, inner.to};
    } else {
      loops.list[++kept] = inner;
    }
  }
  if (loops.size > 0) loops.size = kept + 1;
  return loops;
}

// A short stretch that is adjacent on both sides is one wider element, where it divides all else.
void Widen(Loops& loops) {
  if (loops.size < 2) return;
  const Loop& last = loops.list[loops.size - 1];
  if (last.from != loops.width || last.to != loops.width) return;
  const int64_t wide = last.count * loops.width;
  if (wide != 2 && wide != 4 && wide != 8 && wide != 16) return;
  for (int i = 0; i + 1 < loops.size; ++i) {
    if (loops.list[i].from % wide != 0 || loops.list[i].to % wide != 0) return;
  }
  --loops.size;
  loops.width = wide;
}

int Log2(int64_t width) { return __builtin_ctzll(static_cast<uint64_t>(width)); }

// Calls body(x, y, begin, end) for parts [begin, end) of the loop `split`, in elements, for every
// index of the loops before it.
template <class F>
void ForEachPart(const Loop* outer, int depth, int64_t split, int64_t part, int64_t part_bytes,
                 const char* x, char* y, ThreadPool* pool, F body) {
  int64_t count = 1;
  for (int i = 0; i < depth; ++i) count *= outer[i].count;
  const int64_t parts = (split + part - 1) / part;
  Split(pool, count * parts, part_bytes / 2 + 1, [&](int64_t begin, int64_t end) {
    int64_t index[StridedMove::kMaxAxes + 1];
    const char* from = x;
    char* to = y;
    int64_t left = begin / parts;
    for (int i = depth - 1; i >= 0; --i) {
      index[i] = left % outer[i].count;
      left /= outer[i].count;
      from += index[i] * outer[i].from;
      to += index[i] * outer[i].to;
    }
    int64_t k = begin % parts;
    for (int64_t item = begin; item < end; ++item) {
      body(from, to, k * part, std::min(split, (k + 1) * part));
      if (++k < parts) continue;
      k = 0;
      for (int i = depth - 1; i >= 0; --i) {
        from += outer[i].from;
        to += outer[i].to;
        if (++index[i] < outer[i].count) break;
        index[i] = 0;
        from -= outer[i].from * outer[i].count;
        to -= outer[i].to * outer[i].count;
      }
    }
  });
}

// How many rows of so many bytes go into one part.
int64_t RowsInPart(int64_t row_bytes) { return std::max<int64_t>(1, 65536 / row_bytes); }

// Calls body(first, last) over parts of so many bytes.
template <class F>
void ForBytes(int64_t bytes, ThreadPool* pool, F body) {
  constexpr int64_t kPart = 1 << 18;
  const int64_t parts = (bytes + kPart - 1) / kPart;
  Split(pool, parts, kPart / 8,
        [&](int64_t begin, int64_t end) { body(begin * kPart, std::min(bytes, end * kPart)); });
}

void MoveBlock(int64_t bytes, const char* x, char* y, ThreadPool* pool) {
  ForBytes(bytes, pool, [&](int64_t first, int64_t last) {
    std::memcpy(y + first, x + first, static_cast<size_t>(last - first));
  });
}

}  // namespace

void Move(const StridedMove& move, size_t element, const void* x_data, void* y_data,
          const MoveKernels& kernels, ThreadPool* pool) {
  for (int i = 0; i < move.rank; ++i) {
    if (move.dims[i] == 0) return;
  }
  const char* x = static_cast<const char*>(x_data);
  char* y = static_cast<char*>(y_data);
  Loops loops = Canonical(move, static_cast<int64_t>(element));
  if (loops.size == 1 && loops.list[0].from == loops.width && loops.list[0].to == loops.width) {
    return MoveBlock(loops.list[0].count * loops.width, x, y, pool);
  }
  Widen(loops);
  // Two loops at least: the kernels take rows.
  while (loops.size < 2) {
    for (int i = loops.size; i > 0; --i) loops.list[i] = loops.list[i - 1];
    loops.list[0] = {1, 0, 0};
    ++loops.size;
  }
  const int64_t width = loops.width;
  const int kind = Log2(width);
  const Loop inner = loops.list[loops.size - 1];
  const int64_t row_bytes = inner.count * width;

  // Adjacent in y along the inner loop and in x along another one: a transpose of these two.
  if (inner.to == width && inner.from != width && inner.from != 0) {
    for (int t = loops.size - 2; t >= 0; --t) {
      if (loops.list[t].from != width) continue;
      const Loop across = loops.list[t];
      for (int i = t; i + 2 < loops.size; ++i) loops.list[i] = loops.list[i + 1];
      const int64_t part =
          std::max<int64_t>(64, (RowsInPart(row_bytes) + 63) / 64 * 64);  // columns at once
      return ForEachPart(
          loops.list, loops.size - 2, across.count, part, std::min(part, across.count) * row_bytes,
          x, y, pool, [&](const char* from, char* to, int64_t begin, int64_t end) {
            kernels.transpose[kind](from + begin * across.from, to + begin * across.to, inner.count,
                                    end - begin, inner.from, across.to);
          });
    }
  }
  const Loop rows = loops.list[loops.size - 2];
  const int64_t part = RowsInPart(row_bytes);
  ForEachPart(loops.list, loops.size - 2, rows.count, part, std::min(part, rows.count) * row_bytes,
              x, y, pool, [&](const char* from, char* to, int64_t begin, int64_t end) {
                from += begin * rows.from;
                to += begin * rows.to;
                if (inner.from == width && inner.to == width) {
                  kernels.copy(from, to, end - begin, rows.from, rows.to, row_bytes);
                } else if (inner.from == 0 && inner.to == width) {
                  kernels.fill[kind](from, to, end - begin, rows.from, rows.to, inner.count);
                } else {
                  kernels.strided[kind](from, to, end - begin, rows.from, rows.to, inner.count,
                                        inner.from, inner.to);
                }
              });
}

void MoveRows(const RowPart* parts, int count, int64_t rows, const MoveKernels& kernels,
              ThreadPool* pool) {
  if (rows == 1) {
    for (int i = 0; i < count; ++i) MoveBlock(parts[i].bytes, parts[i].x, parts[i].y, pool);
    return;
  }
  int64_t bytes = 0;  // of a row
  for (int i = 0; i < count; ++i) bytes += parts[i].bytes;
  if (bytes == 0) return;
  // Row by row one side is written or read from front to back. Short parts are not worth a call
  // each; of those a block of rows that stays in the cache.
  constexpr int64_t kInCache = 1 << 15, kShort = 128;
  const int64_t block = bytes / count >= kShort ? 1 : std::max<int64_t>(1, kInCache / bytes);
  const int64_t blocks = (rows + block - 1) / block;
  Split(pool, blocks, std::min(block, rows) * bytes / 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * block, some = std::min(block, rows - first);
      for (int i = 0; i < count; ++i) {
        const RowPart& part = parts[i];
        kernels.copy(part.x + first * part.x_row, part.y + first * part.y_row, some, part.x_row,
                     part.y_row, part.bytes);
      }
    }
  });
}

const MoveKernels& FindMoveKernels([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetMoveKernels();
  if (isa == Isa::kAvx2) return avx2::GetMoveKernels();
#endif
  return plain::GetMoveKernels();
}

Kernel MoveKernel(std::string name, KernelFn run) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.run = run;
  kernel.prepare = [](const KernelQuery& q) -> std::unique_ptr<Prepared> {
    auto prepared = std::make_unique<PreparedMoves>();
    prepared->kernels = &FindMoveKernels(q.isa);
    return prepared;
  };
  return kernel;
}

void ZeroBytes(const Slot& slot, ThreadPool* pool) {
  ForBytes(static_cast<int64_t>(slot.tensor.num_bytes()), pool, [&](int64_t first, int64_t last) {
    std::memset(slot.data<char>() + first, 0, static_cast<size_t>(last - first));
  });
}

void CopyBytes(const Slot& x, const Slot& y, ThreadPool* pool) {
  MoveBlock(static_cast<int64_t>(y.tensor.num_bytes()), x.data<const char>(), y.data<char>(), pool);
}

}  // namespace catamaran
