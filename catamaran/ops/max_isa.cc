#include "catamaran/ops/max_isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/base/max_isa.h"
#include "catamaran/ops/onednn.h"

#if CATAMARAN_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace catamaran {
namespace {

#if defined(__x86_64__) && defined(__linux__)

bool AmxIsAnnounced() {
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kAmxTile = 1u << 24;
  if ((d & kAmxTile) == 0) return false;
  constexpr unsigned kXsaveInUse = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kXsaveInUse) == 0) return false;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTiles = 3u << 17;  // their configuration and their data
  return (low & kTiles) == kTiles;
}

// Written as bytes: compilers know these instructions only where they are told to use AMX.
void UseAmx() {
  // The kernel grants tiles on request; without the grant their first use is a fault, and oneDNN,
  // which asks in the same way, does not use them.
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  if (::syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return;
  struct alignas(64) TileConfig {
    uint8_t palette = 1;
    uint8_t other[15] = {};
    uint16_t row_bytes[16] = {64};
    uint8_t rows[16] = {16};
  };
  const TileConfig config;
  asm volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00"
               :
               : "a"(&config)
               : "memory");                            // ldtilecfg [rax]
  asm volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0");  // tilezero tmm0
  asm volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0");  // tilerelease
}

#else

bool AmxIsAnnounced() { return false; }
void UseAmx() {}

#endif

// oneDNN has one cap for the whole process, and so have we.
std::mutex settle_mutex;
bool settled = false;
Amx amx = Amx::kAbsent;

#if CATAMARAN_WITH_ONEDNN

// Whether the user's own setting of oneDNN leaves AMX out.
bool UserLeavesAmxOut() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view isa = value;
    return isa.find("AMX") == isa.npos && isa != "ALL" && isa != "DEFAULT" && !isa.empty();
  }
  return false;
}

dnnl_cpu_isa_t CapOf(Isa max) {
  switch (max) {
    case Isa::kPlain:
      return dnnl_cpu_isa_sse41;
    case Isa::kAvx2:
      return dnnl_cpu_isa_avx2;
    case Isa::kAvx512:
      return dnnl_cpu_isa_avx512_core_bf16;
  }
  return dnnl_cpu_isa_sse41;
}

#endif

void Settle(std::optional<Isa> max) {
  settled = true;
  if (!max) amx = TryAmx();
#if CATAMARAN_WITH_ONEDNN
  if (!max && (amx != Amx::kFaults || UserLeavesAmxOut())) return;
  if (dnnl_set_max_cpu_isa(CapOf(max.value_or(Isa::kAvx512))) == dnnl_success) return;
  if (max) Fail("the instruction set is chosen at start; oneDNN has chosen already");
#else
  (void)max;
#endif
}

}  // namespace

AmxProbe ThisProcessor() { return {&AmxIsAnnounced, &UseAmx}; }

Amx TryAmx(const AmxProbe& probe) {
  if (!probe.announced()) return Amx::kAbsent;
  return SurvivesInChild(probe.use) ? Amx::kWorks : Amx::kFaults;
}

bool SurvivesInChild(void (*use)()) {
  const pid_t child = ::fork();
  if (child < 0) return false;  // not known; without is safe
  if (child == 0) {
    // Only what may be called in the child of a process with threads.
    for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGTRAP}) ::signal(number, SIG_DFL);
    const rlimit no_core = {};
    ::setrlimit(RLIMIT_CORE, &no_core);
    use();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void LimitIsa(std::optional<Isa> max) {
  const std::lock_guard lock(settle_mutex);
  if (settled) Fail("the instruction set is chosen at start, once");
  if (max) SetMaxDetectedIsa(*max);
  Settle(max);
}

std::string IsaProblem() {
  SettleIsa();
  if (amx != Amx::kFaults) return {};
  return "the processor announces AMX and cannot run it (some virtual machines do that); products "
         "of matrices do without";
}

void SettleIsa() {
  const std::lock_guard lock(settle_mutex);
  if (!settled) Settle(std::nullopt);
}

}  // namespace catamaran
