// table/row_codec.h
//
// How the numbers of an embedding become the words of a record and come back (RowStore). f32 words
// are the numbers themselves. bf16 and int8 are rounded at random, so that what is read is what was
// written on average: up with the probability that makes it so, decided by Philox of (the table's
// seed, the key, the step), so that the same steps give the same words anywhere. In bf16 what needs
// no rounding stays as it is, and finite numbers stay finite. In int8 the scale is the largest
// number of the row / 127, and a row with a number that is not finite reads as NaN.
//
// Thread safety: a RowCodec is immutable.

#pragma once

#include <cstdint>
#include <cstring>

#include "catamaran/base/cpu.h"
#include "catamaran/table/row_kernels_simd.h"
#include "catamaran/table/table_config.h"

namespace catamaran {

// Of the code built for `isa`, or the nearest below it that was built.
RowKernels RowKernelsFor(Isa isa);

// The `step` of what is rounded when a row is made; steps of training are not negative.
inline constexpr int64_t kInitialStep = -1;

class RowCodec {
 public:
  explicit RowCodec(const TableConfig& config, Isa isa = DetectIsa());

  // Words of `columns` numbers: RowLayout::Class::embedding_words.
  static int Words(RowStore store, int64_t columns);

  // What Decode does; null where it copies the words.
  DecodeRowFn decoder() const {
    if (store_ == RowStore::kF32) return nullptr;
    return store_ == RowStore::kBf16 ? kernels_.decode_bf16 : kernels_.decode_int8;
  }
  void Decode(const uint32_t* words, int64_t columns, float* out) const {
    if (const DecodeRowFn decode = decoder()) {
      decode(words, columns, out);
    } else {
      std::memcpy(out, words, static_cast<size_t>(columns) * sizeof(float));
    }
  }

  // `words` must not overlap `values`. REQUIRES: columns <= kMaxTableWidth.
  void Encode(const float* values, int64_t columns, uint64_t key, int64_t step,
              uint32_t* words) const {
    if (store_ == RowStore::kF32) {
      std::memcpy(words, values, static_cast<size_t>(columns) * sizeof(float));
    } else {
      EncodeRounded(values, columns, round_stream_, key, step, words);
    }
  }
  // The same with draws of its own, for a row that grows in a step and may be updated in it too.
  void EncodeGrown(const float* values, int64_t columns, uint64_t key, int64_t step,
                   uint32_t* words) const;

  RowStore store() const { return store_; }
  Isa isa() const { return isa_; }
  const RowKernels& kernels() const { return kernels_; }

 private:
  void EncodeRounded(const float* values, int64_t columns, uint64_t stream, uint64_t key,
                     int64_t step, uint32_t* words) const;

  RowStore store_;
  Isa isa_;
  uint64_t round_stream_;
  uint64_t grow_stream_;
  RowKernels kernels_;
};

}  // namespace catamaran
