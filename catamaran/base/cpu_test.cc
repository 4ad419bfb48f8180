#include "catamaran/base/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

TEST(Cpu, NamesNameTheInstructionSets) {
  EXPECT_EQ(IsaName(Isa::kPlain), "plain");
  EXPECT_EQ(IsaName(Isa::kAvx2), "avx2");
  EXPECT_EQ(IsaName(Isa::kAvx512), "avx512");
}

TEST(Cpu, TheEnvironmentCanLowerTheInstructionSetButNotRaiseIt) {
  EXPECT_EQ(LowerIsa(Isa::kAvx512, "avx2"), Isa::kAvx2);
  EXPECT_EQ(LowerIsa(Isa::kAvx512, "plain"), Isa::kPlain);
  EXPECT_EQ(LowerIsa(Isa::kAvx2, "avx512"), Isa::kAvx2);
  setenv("CATAMARAN_ISA", "plain", 1);
  EXPECT_EQ(IsaFromEnvironment(), Isa::kPlain);
  unsetenv("CATAMARAN_ISA");
  EXPECT_EQ(IsaFromEnvironment(), DetectIsa());
}

TEST(Cpu, AnUnknownInstructionSetIsAnErrorThatListsThem) {
  try {
    LowerIsa(Isa::kPlain, "avx3");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "CATAMARAN_ISA is \"avx3\"; it can be plain, avx2 or avx512 (did you mean avx2?)");
  }
}

TEST(Cpu, ALowerInstructionSetHasNoFeaturesOfTheHigher) {
  for (const Isa isa : {Isa::kPlain, Isa::kAvx2}) {
    EXPECT_FALSE(HasBf16(isa));
    EXPECT_FALSE(HasVnni(isa));
  }
}

TEST(Cpu, AControlGroupsLimitIsRoundedUpToCores) {
  EXPECT_EQ(CoresFromCpuMax("200000 100000\n"), 2);
  EXPECT_EQ(CoresFromCpuMax("150000 100000\n"), 2);
  EXPECT_EQ(CoresFromCpuMax("1000 100000"), 1);
  EXPECT_EQ(CoresFromCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(CoresFromCpuMax("-1\n 100000\n"), std::nullopt);
  EXPECT_EQ(CoresFromCpuMax("5"), std::nullopt);
  EXPECT_EQ(CoresFromCpuMax(""), std::nullopt);
}

TEST(Cpu, ThereIsAtLeastOneCore) { EXPECT_GE(AvailableCores(), 1); }

}  // namespace
}  // namespace catamaran
