// Files of every format version that was ever released keep loading.

#include <gtest/gtest.h>

#include "catamaran/base/file.h"
#include "catamaran/ir/parser.h"
#include "catamaran/ir/proto.h"
#include "catamaran/ir/proto_samples.h"

namespace catamaran {
namespace {

const std::string kFolder = "catamaran/ir/testdata/";

TEST(ProtoGolden, AFileOfVersion1EqualsItsText) {
  const auto ops = testing::ProtoSampleOps();
  BuilderSet builders;
  testing::AddProtoSampleBuilders(builders);
  const Program stored = FromProtoBytes(PosixFileSystem().ReadAll(kFolder + "program_v1.ctmb"), ops,
                                        "program_v1.ctmb");
  const Program text = ParseFile(PosixFileSystem(), kFolder + "program_v1.ctm", ops, builders);
  std::string why;
  EXPECT_TRUE(Equal(stored, text, &why)) << why;
  const Function& loss = *stored.items.FindFunction("loss");
  EXPECT_EQ(stored.sources().ToString(loss.body().first()->at), kFolder + "program_v1.ctm:28");
  EXPECT_EQ(stored.sources().Line(loss.body().first()->at.file, 28),
            "  e = lookup(@feat, ids, pool=sum)");
}

TEST(ProtoGolden, AFlatFileOfVersion1Loads) {
  const Program stored = FromProtoBytes(PosixFileSystem().ReadAll(kFolder + "program_v1_flat.ctmb"),
                                        testing::ProtoSampleOps(), "program_v1_flat.ctmb");
  std::string why;
  EXPECT_TRUE(Equal(stored, testing::ProtoSampleFlat(), &why)) << why;
  EXPECT_TRUE(stored.flat);
}

}  // namespace
}  // namespace catamaran
