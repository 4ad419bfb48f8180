#include "catamaran/table/row_codec.h"

#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"

namespace catamaran {
namespace {

// Streams of one seed that must not meet those of table_config.cc.
constexpr uint64_t kRoundStream = 0x726f756e;
constexpr uint64_t kGrowStream = 0x67726f77;

constexpr int64_t kDrawsPerBlock = 8;  // of 16 bits each
constexpr int kBlockBits = 7;
static_assert(kDrawsPerBlock << kBlockBits >= kMaxTableWidth);

}  // namespace

RowKernels RowKernelsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::GetRowKernels();
  if (isa == Isa::kAvx2) return avx2::GetRowKernels();
#endif
  return plain::GetRowKernels();
}

RowCodec::RowCodec(const TableConfig& config, Isa isa)
    : store_(config.store),
      isa_(isa),
      round_stream_(HashCombine(config.seed, kRoundStream)),
      grow_stream_(HashCombine(config.seed, kGrowStream)),
      kernels_(RowKernelsFor(isa)) {}

int RowCodec::Words(RowStore store, int64_t columns) {
  if (columns == 0) return 0;
  switch (store) {
    case RowStore::kF32:
      return static_cast<int>(columns);
    case RowStore::kBf16:
      return static_cast<int>((columns + 1) / 2);
    case RowStore::kInt8:
      return static_cast<int>(1 + (columns + 3) / 4);
  }
  return 0;
}

void RowCodec::EncodeGrown(const float* values, int64_t columns, uint64_t key, int64_t step,
                           uint32_t* words) const {
  if (store_ == RowStore::kF32) return Encode(values, columns, key, step, words);
  EncodeRounded(values, columns, grow_stream_, key, step, words);
}

void RowCodec::EncodeRounded(const float* values, int64_t columns, uint64_t stream, uint64_t key,
                             int64_t step, uint32_t* words) const {
  uint16_t draws[kMaxTableWidth];
  for (int64_t i = 0; i < columns; i += kDrawsPerBlock) {
    const uint64_t block =
        static_cast<uint64_t>(step) << kBlockBits | static_cast<uint64_t>(i / kDrawsPerBlock);
    const PhiloxBlock bits = Philox(stream, block, key);
    for (int k = 0; k < 4; ++k) {
      draws[i + 2 * k] = static_cast<uint16_t>(bits.words[k]);
      draws[i + 2 * k + 1] = static_cast<uint16_t>(bits.words[k] >> 16);
    }
  }
  (store_ == RowStore::kBf16 ? kernels_.encode_bf16 : kernels_.encode_int8)(values, draws, columns,
                                                                            words);
}

}  // namespace catamaran
