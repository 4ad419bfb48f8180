#include "catamaran/ops/max_isa.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/base/error.h"
#include "catamaran/ops/onednn.h"

#if CATAMARAN_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace catamaran {
namespace {

bool Announced() { return true; }
bool NotAnnounced() { return false; }
void Fine() {}
void Illegal() { __builtin_trap(); }
void MustNotRun() { std::abort(); }

TEST(MaxIsa, AProcessorThatFaultsOnWhatItAnnouncesIsFoundOut) {
  EXPECT_EQ(TryAmx({&Announced, &Illegal}), Amx::kFaults);
  EXPECT_EQ(TryAmx({&Announced, &Fine}), Amx::kWorks);
  EXPECT_EQ(TryAmx({&NotAnnounced, &MustNotRun}), Amx::kAbsent);
}

TEST(MaxIsa, ThisProcessorIsTriedWithoutHarm) {
  TryAmx();
  SettleIsa();
  EXPECT_EQ(IsaProblem().empty(), TryAmx() != Amx::kFaults);
}

TEST(MaxIsa, AfterTheFirstProductItIsTooLate) {
  SettleIsa();
  EXPECT_THROW(LimitIsa(Isa::kPlain), Error);
}

#if CATAMARAN_WITH_ONEDNN
TEST(MaxIsaDeathTest, TheCapHoldsForOurCodeAndForOneDnn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // oneDNN chooses once in a process
  const auto limit = [] {
    LimitIsa(Isa::kPlain);
    const bool ours = DetectIsa() == Isa::kPlain;
    const bool theirs = dnnl_get_effective_cpu_isa() == dnnl_cpu_isa_sse41;
    std::exit(ours && theirs ? 0 : ours ? 2 : 1);
  };
  EXPECT_EXIT(limit(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace catamaran
