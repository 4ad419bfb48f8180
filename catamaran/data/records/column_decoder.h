// data/records/column_decoder.h
//
// The way back from the bytes of column_encoder.h. The bytes are not trusted: what does not fit
// together is an Error (without file and column, which the caller knows), and no more memory is
// taken than the limits given.
//
// Thread safety: a ColumnDecoder keeps scratch memory; one thread at a time.

#pragma once

#include <cstdint>
#include <span>

#include "catamaran/base/cpu.h"
#include "catamaran/data/buffer.h"
#include "catamaran/data/records/bit_packing.h"
#include "catamaran/data/row_block.h"

namespace catamaran {

class ColumnDecoder {
 public:
  explicit ColumnDecoder(Isa isa) : kernels_(FindUnpackKernels(isa)) {}

  // Fills `block`, whose buffers are empty but for the 0 that offsets begin with. `elements` is how
  // many numbers or bytes the column has in all its rows.
  // REQUIRES: `elements` fits kMaxBlockBytes; for dense columns it is rows * width.
  void Decode(const Column& column, std::span<const std::byte> bytes, int64_t rows,
              uint32_t elements, ColumnBlock& block);

 private:
  class Streams;

  void DecodeWords(Streams& in, size_t count, Buffer<uint32_t>& out);
  void DecodeInts(Streams& in, size_t count, Buffer<int64_t>& out);
  void DecodeFloats(Streams& in, size_t count, Buffer<float>& out);
  void DecodeOffsets(Streams& in, size_t rows, uint32_t elements, Buffer<int32_t>& out);
  void DecodeStrings(Streams& in, size_t rows, uint32_t elements, ColumnBlock& block);
  // Fills words_ with numbers below `entries`.
  void DecodeWhich(Streams& in, size_t count, size_t entries);

  const UnpackKernels kernels_;
  Buffer<uint32_t> words_;
  Buffer<int32_t> entry_offsets_;
};

}  // namespace catamaran
