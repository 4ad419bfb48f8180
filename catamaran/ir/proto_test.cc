#include "catamaran/ir/proto.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "catamaran/base/error.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.pb.h"
#include "catamaran/ir/proto_samples.h"

namespace catamaran {
namespace {

using testing::ProtoSampleAsWritten;
using testing::ProtoSampleFlat;
using testing::ProtoSampleOps;

std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

v1::Program MessageOf(const Program& program) {
  v1::Program message;
  EXPECT_TRUE(message.ParseFromString(ToProtoBytes(program).substr(kProgramHeaderBytes)));
  return message;
}

// What the reader says to this message in an intact file; empty when it accepts it.
std::string Refusal(const v1::Program& message) {
  const std::string payload = message.SerializeAsString();
  return ErrorOf(
      [&] { FromProtoBytes(ProgramHeader(payload) + payload, ProtoSampleOps(), "a.ctmb"); });
}

// The first function that is not in a builder.
v1::Function& FirstFunction(v1::Program& message) {
  for (v1::Item& item : *message.mutable_items()) {
    if (item.has_function()) return *item.mutable_function();
  }
  throw Error("no function");
}

void ExpectRoundTrip(const Program& program) {
  const std::string bytes = ToProtoBytes(program);
  const Program back = FromProtoBytes(bytes, program.ops_ptr(), "test");
  std::string why;
  EXPECT_TRUE(Equal(program, back, &why)) << why;
  // Locations, frames, checks and source texts are not part of Equal; the bytes hold them all.
  EXPECT_EQ(ToProtoBytes(back), bytes);
}

TEST(Proto, AProgramAsWrittenComesBack) { ExpectRoundTrip(ProtoSampleAsWritten()); }

TEST(Proto, AFlatProgramComesBack) { ExpectRoundTrip(ProtoSampleFlat()); }

TEST(Proto, AnEmptyProgramComesBack) { ExpectRoundTrip(Program("", ProtoSampleOps())); }

TEST(Proto, LocationsAndFramesComeBack) {
  const Program back =
      FromProtoBytes(ToProtoBytes(ProtoSampleFlat()), ProtoSampleOps(), "net.ctmb");
  const Op& relu = *back.Functions()[0]->body().first();
  EXPECT_EQ(back.sources().ToString(relu.at), "net.ctm:2");
  EXPECT_EQ(relu.at.column, 5u);
  const SourceFrame frame = back.sources().frame(relu.at.frame);
  EXPECT_EQ(frame.what, "called by loss");
  EXPECT_EQ(back.sources().frame(frame.at.frame).what, "in linear fc1");
  EXPECT_EQ(back.sources().Line(relu.at.file, 2), "fn f(x: f32[B, *T, 16]) {");
}

TEST(Proto, ImportsKeepSharingTheSourceTable) {
  const Program back =
      FromProtoBytes(ToProtoBytes(ProtoSampleAsWritten()), ProtoSampleOps(), "test");
  EXPECT_EQ(back.items.FindImport("near")->program->sources_ptr(), back.sources_ptr());
  EXPECT_NE(back.items.FindImport("far")->program->sources_ptr(), back.sources_ptr());
}

TEST(Proto, SourceTextCanBeLeftOut) {
  const Program program = ProtoSampleFlat();
  const Program back =
      FromProtoBytes(ToProtoBytes(program, {.keep_source_text = false}), program.ops_ptr(), "test");
  const Op& relu = *back.Functions()[0]->body().first();
  EXPECT_EQ(back.sources().ToString(relu.at), "net.ctm:2");
  EXPECT_EQ(back.sources().Line(relu.at.file, 2), "");
  EXPECT_TRUE(Equal(program, back));
}

TEST(Proto, EqualProgramsGiveEqualBytes) {
  EXPECT_EQ(ToProtoBytes(ProtoSampleFlat()), ToProtoBytes(ProtoSampleFlat()));
  EXPECT_NE(ToProtoBytes(ProtoSampleFlat()), ToProtoBytes(ProtoSampleAsWritten()));
}

TEST(Proto, EveryCutOffFileIsRefused) {
  for (const Program& program : {ProtoSampleFlat(), ProtoSampleAsWritten()}) {
    const std::string bytes = ToProtoBytes(program);
    for (size_t n = 0; n < bytes.size(); ++n) {
      ASSERT_THROW(FromProtoBytes(std::string_view(bytes).substr(0, n), program.ops_ptr(), "cut"),
                   Error)
          << n;
    }
  }
}

TEST(Proto, EveryFlippedByteIsNoticed) {
  const Program program = ProtoSampleAsWritten();
  const std::string bytes = ToProtoBytes(program);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string broken = bytes;
    broken[random() % broken.size()] ^= static_cast<char>(1 + random() % 255);
    ASSERT_THROW(FromProtoBytes(broken, program.ops_ptr(), "flipped"), Error);
  }
}

// The checksum keeps accidents out; these are files made by someone who knows it.
TEST(Proto, FlippedBytesUnderARightChecksumAreAnErrorOrAProgram) {
  for (const Program& program : {ProtoSampleFlat(), ProtoSampleAsWritten()}) {
    const std::string payload = ToProtoBytes(program).substr(kProgramHeaderBytes);
    std::mt19937 random(2);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string broken = payload;
      for (int k = 0; k < 1 + i % 3; ++k) {
        broken[random() % broken.size()] ^= static_cast<char>(1 + random() % 255);
      }
      try {
        const Program back =
            FromProtoBytes(ProgramHeader(broken) + broken, program.ops_ptr(), "flipped");
        ExpectRoundTrip(back);
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 500);
    EXPECT_LT(refused, 2000);
  }
}

TEST(Proto, EveryPrefixUnderARightChecksumIsAnErrorOrAProgram) {
  const Program program = ProtoSampleAsWritten();
  const std::string payload = ToProtoBytes(program).substr(kProgramHeaderBytes);
  for (size_t n = 0; n < payload.size(); ++n) {
    const std::string cut = payload.substr(0, n);
    try {
      FromProtoBytes(ProgramHeader(cut) + cut, program.ops_ptr(), "cut");
    } catch (const Error&) {
    }
  }
}

TEST(Proto, AnotherFileIsNamedAsSuch) {
  EXPECT_EQ(ErrorOf([] { FromProtoBytes("program ctr\n", ProtoSampleOps(), "ctr.ctm"); }),
            "ctr.ctm: this is not a stored program: its first bytes are others");
  EXPECT_FALSE(LooksLikeProtoBytes("program ctr\n"));
  EXPECT_TRUE(LooksLikeProtoBytes(ToProtoBytes(ProtoSampleFlat())));
}

TEST(Proto, ANewerFormatSaysSo) {
  std::string bytes = ToProtoBytes(ProtoSampleFlat());
  bytes[8] = 7;
  EXPECT_EQ(ErrorOf([&] { FromProtoBytes(bytes, ProtoSampleOps(), "a.ctmb"); }),
            "a.ctmb: the file has format version 7; this build reads versions up to 1: use a "
            "newer build");
}

TEST(Proto, ANewerOpSetSaysSo) {
  v1::Program message = MessageOf(ProtoSampleFlat());
  message.set_op_set_version(OpSet::kVersion + 1);
  EXPECT_NE(Refusal(message).find("stored with version 2 of the op set"), std::string::npos)
      << Refusal(message);
}

TEST(Proto, AnUnknownOpIsNamedWithItsLine) {
  v1::Program message = MessageOf(ProtoSampleFlat());
  *message.mutable_op_names(0) = "rellu";
  EXPECT_EQ(Refusal(message),
            "a.ctmb: net.ctm:2: there is no op `rellu` in this op set (the program was stored "
            "with version 1 of the op set; this build has version 1)");
}

TEST(Proto, ReferencesOutOfRangeAreRefused) {
  const auto refused = [](const char* wanted, const std::function<void(v1::Program&)>& change) {
    v1::Program message = MessageOf(ProtoSampleFlat());
    change(message);
    const std::string found = Refusal(message);
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n" << found;
  };
  refused("value 9 is used where 3 are defined", [](v1::Program& m) {
    FirstFunction(m).mutable_body()->mutable_ops(0)->set_operands(0, 9);
  });
  refused("the operand `x` is missing", [](v1::Program& m) {
    FirstFunction(m).mutable_body()->mutable_ops(0)->set_operands(0, 0);
  });
  refused("op name 99",
          [](v1::Program& m) { FirstFunction(m).mutable_body()->mutable_ops(0)->set_name(99); });
  refused("a location refers to file 99", [](v1::Program& m) {
    FirstFunction(m).mutable_body()->mutable_ops(0)->mutable_at()->set_file(99);
  });
  refused("frame 2 of", [](v1::Program& m) {  // a frame that would stand in itself
    m.mutable_sources()->mutable_frames(1)->mutable_at()->set_frame(2);
  });
  refused("type 99",
          [](v1::Program& m) { FirstFunction(m).mutable_body()->mutable_args(0)->set_type(99); });
  refused("has no type",
          [](v1::Program& m) { FirstFunction(m).mutable_body()->mutable_args(0)->set_type(0); });
  refused("dimension 99", [](v1::Program& m) { FirstFunction(m).mutable_checks(0)->set_left(99); });
  refused("dimension 0 is referred to where 0 are known", [](v1::Program& m) {
    m.mutable_dims(0)->clear_terms();
    m.mutable_dims(0)->add_terms()->add_factors()->set_numerator(0);
  });
  refused("no dtype", [](v1::Program& m) { m.mutable_types(0)->set_dtype(v1::DataType(11)); });
  refused("no kind of type", [](v1::Program& m) { m.mutable_types(0)->set_kind(v1::Type::NONE); });
  refused("can be ragged", [](v1::Program& m) { m.mutable_types(0)->set_ragged(3); });
  refused("at most 8", [](v1::Program& m) {
    for (int i = 0; i < 9; ++i) m.mutable_types(0)->add_dims(0);
  });
  refused("does not end in `return`",
          [](v1::Program& m) { FirstFunction(m).mutable_body()->mutable_ops()->RemoveLast(); });
  refused("2 results, wanted 1", [](v1::Program& m) {
    FirstFunction(m).mutable_body()->mutable_ops(0)->add_results()->set_type(1);
  });
  refused("no known kind", [](v1::Program& m) {
    m.clear_items();
    m.set_flat(false);
    m.add_items();
  });
  refused("declared twice", [](v1::Program& m) { *m.add_items() = m.items(0); });
  refused("list of source files is missing", [](v1::Program& m) { m.clear_sources(); });
}

TEST(Proto, AValueOfAnEndedBlockCannotBeUsed) {
  v1::Program message = MessageOf(ProtoSampleAsWritten());
  v1::Block& body = *FirstFunction(message).mutable_body();
  // The loop is the second op; at its own operands x, n and the constant are visible.
  ASSERT_EQ(body.ops(1).blocks_size(), 1);
  const uint32_t inside = 4;  // the loop's index, in its block
  body.mutable_ops(1)->set_operands(0, inside);
  EXPECT_NE(Refusal(message).find("value 4 is used where 3 are defined"), std::string::npos);
}

TEST(Proto, ControlFlowOfTheWrongShapeIsRefused) {
  const auto refused = [](const char* wanted, const std::function<void(v1::Block&)>& change) {
    v1::Program message = MessageOf(ProtoSampleAsWritten());
    change(*FirstFunction(message).mutable_body());
    const std::string found = Refusal(message);
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n" << found;
  };
  refused("for: 0 blocks, wanted 1", [](v1::Block& b) { b.mutable_ops(1)->clear_blocks(); });
  refused("for: the block does not end in `yield`",
          [](v1::Block& b) { b.mutable_ops(1)->mutable_blocks(0)->mutable_ops()->RemoveLast(); });
  refused("3 arguments of its block, wanted 2",
          [](v1::Block& b) { b.mutable_ops(1)->mutable_blocks(0)->add_args(); });
  refused("if: the block yields 0 values, wanted 1", [](v1::Block& b) {
    v1::Block& then = *b.mutable_ops(1)->mutable_blocks(0)->mutable_ops(1)->mutable_blocks(0);
    then.mutable_ops(1)->clear_operands();
  });
  refused("while: 1 block, wanted 2",
          [](v1::Block& b) { b.mutable_ops(2)->mutable_blocks()->RemoveLast(); });
  refused("concat: the attribute `axis` is given twice", [](v1::Block& b) {
    v1::Op& concat = *b.mutable_ops(5);
    *concat.add_attrs() = concat.attrs(0);
  });
  refused("call: the callee is missing", [](v1::Block& b) { b.mutable_ops(3)->clear_callee(); });
}

TEST(Proto, DeepNestingIsRefusedWithoutUsingTheStackUp) {
  v1::Program message = MessageOf(ProtoSampleFlat());
  v1::Attr* attr = message.mutable_items(0)->mutable_state()->mutable_init();
  for (int i = 0; i < 2000; ++i) attr = attr->mutable_list()->add_items();
  EXPECT_NE(Refusal(message), "");

  message = MessageOf(ProtoSampleFlat());
  attr = message.mutable_items(0)->mutable_state()->mutable_init();
  for (int i = 0; i <= ProtoLimits::kAttrDepth; ++i) attr = attr->mutable_list()->add_items();
  EXPECT_EQ(Refusal(message), "a.ctmb: an attribute is nested too deep");

  message = MessageOf(ProtoSampleFlat());
  v1::Block* block = FirstFunction(message).mutable_body();
  for (int i = 0; i <= ProtoLimits::kBlockDepth; ++i) {
    block = block->mutable_ops(0)->add_blocks();
    block->add_ops();
  }
  EXPECT_NE(Refusal(message), "");

  message = v1::Program();
  v1::Program* program = &message;
  for (int i = 0; i <= ProtoLimits::kImportDepth; ++i) {
    program->mutable_sources();
    program = program->add_items()->mutable_import()->mutable_program();
  }
  EXPECT_EQ(Refusal(message), "a.ctmb: imports are nested too deep");

  message = MessageOf(ProtoSampleFlat());
  for (int i = 0; i < 100'000; ++i) {
    v1::Type& type = *message.add_types();
    type.set_kind(v1::Type::STACK);
    type.set_element(message.types_size() - 1);
  }
  EXPECT_EQ(Refusal(message), "a.ctmb: a type is nested too deep");
}

TEST(Proto, AllDepthsThatCanBeWrittenCanBeRead) {
  Program program("deep", ProtoSampleOps());
  Attr deep(1);
  for (int i = 0; i < ProtoLimits::kAttrDepth; ++i) {
    deep = i % 2 ? Attr(Attr::List{deep}) : Attr(AttrCall{"f", {}, {{"x", deep}}, {}});
  }
  auto f = std::make_unique<Function>();
  Value* n = f->body().AddArg("n");
  Block* block = &f->body();
  for (int i = 0; i < ProtoLimits::kBlockDepth; ++i) {
    Emitter e(program, *f, *block);
    Op* loop = e.EmitOp(e.ops().Get("for"), {{n, n}, {}, {}, {}, 0}, {});
    e.Emit(i == 0 ? "return" : "yield", {});
    block = loop->AddBlock();
    block->AddArg("i");
  }
  Emitter e(program, *f, *block);
  e.Emit("anything", {}, {{"deep", deep}});
  e.Emit("yield", {});
  auto builder = std::make_unique<BuilderDecl>();
  builder->items.Add(std::move(f));
  for (int i = 1; i < ProtoLimits::kBuilderDepth; ++i) {
    auto outer = std::make_unique<BuilderDecl>();
    outer->items.Add(std::move(builder));
    builder = std::move(outer);
  }
  auto inner = std::make_unique<Program>("inner", program.ops_ptr(), program.sources_ptr());
  inner->items.Add(std::move(builder));
  for (int i = 0; i < ProtoLimits::kImportDepth; ++i) {
    auto import = std::make_unique<Import>();
    import->program = std::move(inner);
    inner = std::make_unique<Program>("outer", program.ops_ptr(), program.sources_ptr());
    inner->items.Add(std::move(import));
  }
  ExpectRoundTrip(*inner);

  program.items.Add(Instance{"a", {"b", {Attr(Attr::List{deep})}, {}, {}}, {}});
  EXPECT_EQ(ErrorOf([&] { ToProtoBytes(program); }),
            "storing program deep: an attribute is nested too deep to be stored");
}

TEST(Proto, FewBytesCannotNameMuchText) {
  v1::Program message = MessageOf(ProtoSampleFlat());
  const int long_name = message.dims_size();
  message.add_dims()->add_terms()->set_coefficient(1);
  message.mutable_dims(long_name)->mutable_terms(0)->add_factors()->set_name(
      std::string(4000, 'N'));
  for (int i = 2; i < 200'000; ++i) {
    const int divisor = message.dims_size();
    message.add_dims()->add_terms()->set_coefficient(i);
    v1::Dim::Term& term = *message.add_dims()->add_terms();
    term.set_coefficient(1);
    v1::Dim::Factor& factor = *term.add_factors();
    factor.set_numerator(long_name);
    factor.set_denominator(divisor);
  }
  EXPECT_EQ(Refusal(message),
            "a.ctmb: the dimension expressions are too large for a file of this size");
}

TEST(Proto, DimensionsThatAreNoneAreRefused) {
  const auto refused = [](const char* wanted, const std::function<void(v1::Dim&)>& change) {
    v1::Program message = MessageOf(ProtoSampleFlat());
    change(*message.add_dims());
    const std::string found = Refusal(message);
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n" << found;
  };
  refused("impossible name", [](v1::Dim& d) { d.add_terms()->add_factors()->set_name("B+1"); });
  refused("lowest terms", [](v1::Dim& d) { d.add_terms()->add_factors(); });
  refused("more than 256 terms", [](v1::Dim& d) {
    for (int i = 0; i < 300; ++i) {
      v1::Dim::Term& term = *d.add_terms();
      term.set_coefficient(1);
      term.add_factors()->set_name("n" + std::to_string(i));
    }
  });
  refused("overflows 64 bits", [](v1::Dim& d) {
    for (int i = 0; i < 2; ++i) d.add_terms()->set_coefficient(INT64_MAX);
  });
}

}  // namespace
}  // namespace catamaran
