// base/cpu.h
//
// What the processor can do. One binary holds code for several instruction sets; whoever chooses
// between them takes an Isa as an argument, so that a lower one can be forced (for replay on
// another machine, for tests). Nothing here is remembered between calls but the cap in max_isa.h.

#pragma once

#include <optional>
#include <string_view>

namespace catamaran {

// In rising order: a machine that has one has all before it.
enum class Isa {
  kPlain,   // what the compiler assumes: SSE2 on x86-64, NEON on ARM64
  kAvx2,    // AVX2, FMA and F16C
  kAvx512,  // AVX-512 F, BW, DQ and VL
};

// The best instruction set that both the processor and the operating system support.
Isa DetectIsa();

// "plain", "avx2", "avx512".
std::string_view IsaName(Isa isa);

// Whether bf16 products (AVX512_BF16) or 8-bit integer products (AVX512_VNNI) may be used by code
// for `isa`: the processor has them, and `isa` is kAvx512.
bool HasBf16(Isa isa);
bool HasVnni(Isa isa);

// DetectIsa(), or the instruction set named by the environment variable CATAMARAN_ISA where that is
// lower. Throws Error if the variable names none. Read at start-up, by programs, not by the
// library, and given to LimitIsa (ops/max_isa.h).
Isa IsaFromEnvironment();

// What IsaFromEnvironment does with the variable's value.
Isa LowerIsa(Isa detected, std::string_view name);

// How many threads can run at once: the cores this process may use by affinity, or fewer where a
// control group (a container) limits its time. At least 1.
int AvailableCores();

// The number of cores that the contents of a control group's cpu.max grant, rounded up; nothing
// if it sets no limit or is not understood.
std::optional<int> CoresFromCpuMax(std::string_view contents);

}  // namespace catamaran
