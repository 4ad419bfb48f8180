#include "catamaran/base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/base/max_isa.h"
#include "catamaran/base/suggest.h"

namespace catamaran {
namespace {

constexpr std::array<std::string_view, 3> kIsaNames = {"plain", "avx2", "avx512"};

std::atomic<Isa> max_detected_isa = Isa::kAvx512;

// The file's contents, or nothing if it is not there or cannot be read.
std::string ReadIfThere(const char* path) {
  try {
    return PosixFileSystem().ReadAll(path);
  } catch (const Error&) {
    return "";
  }
}

// Cuts the next word off `text` and reads it as a positive integer.
std::optional<int64_t> TakeInteger(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

int CoresByAffinity() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

#if defined(__x86_64__)
// Clang's __builtin_cpu_supports does not know f16c. That the system saves the wide registers
// is part of what it says about avx2.
bool HasF16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

void SetMaxDetectedIsa(Isa max) { max_detected_isa.store(max); }

Isa DetectIsa() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const Isa isa = avx2 ? avx512 ? Isa::kAvx512 : Isa::kAvx2 : Isa::kPlain;
  return std::min(isa, max_detected_isa.load(std::memory_order_relaxed));
#else
  return Isa::kPlain;
#endif
}

std::string_view IsaName(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

bool HasBf16([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  return isa == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool HasVnni([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  return isa == Isa::kAvx512 && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

Isa LowerIsa(Isa detected, std::string_view name) {
  for (size_t i = 0; i < kIsaNames.size(); ++i) {
    if (kIsaNames[i] == name) return std::min(detected, static_cast<Isa>(i));
  }
  const std::string nearest = Suggest(name, kIsaNames);
  Fail("CATAMARAN_ISA is \"{}\"; it can be plain, avx2 or avx512{}", name,
       nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest));
}

Isa IsaFromEnvironment() {
  const char* name = std::getenv("CATAMARAN_ISA");
  return name == nullptr || *name == '\0' ? DetectIsa() : LowerIsa(DetectIsa(), name);
}

std::optional<int> CoresFromCpuMax(std::string_view contents) {
  const auto quota = TakeInteger(contents);  // "max" where there is no limit
  if (!quota) return std::nullopt;
  const auto period = TakeInteger(contents);
  if (!period) return std::nullopt;
  return static_cast<int>(std::min<int64_t>((*quota - 1) / *period + 1, 1 << 20));
}

int AvailableCores() {
  int cores = CoresByAffinity();
  auto granted = CoresFromCpuMax(ReadIfThere("/sys/fs/cgroup/cpu.max"));
  if (!granted) {  // the older kind of control group says the same in two files
    granted = CoresFromCpuMax(ReadIfThere("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " +
                              ReadIfThere("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  }
  if (granted) cores = std::min(cores, *granted);
  return std::max(cores, 1);
}

}  // namespace catamaran
