// commit/safetensors_test.cc

#include "catamaran/commit/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

class Safetensors : public testing::Test {
 protected:
  Safetensors() : path_(testing::TempDir() + std::to_string(getpid()) + ".safetensors") {}
  ~Safetensors() override {
    if (fs_.Exists(path_)) fs_.Remove(path_);
  }

  static std::string File(const std::string& json, const std::string& data,
                          uint64_t length_of_header = 0) {
    const uint64_t length = length_of_header == 0 ? json.size() : length_of_header;
    return std::string(reinterpret_cast<const char*>(&length), 8) + json + data;
  }

  SafetensorsFile Read(const std::string& bytes) {
    WriteFileAtomically(fs_, path_, bytes);
    return ReadSafetensors(fs_, path_);
  }

  // The message without the file's name, which it must begin with.
  std::string ErrorOf(const std::string& bytes) {
    try {
      Read(bytes);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
      return message.substr(std::min(message.size(), path_.size() + 2));
    }
    return "no error";
  }
  std::string ErrorOf(const std::string& json, const std::string& data) {
    return ErrorOf(File(json, data));
  }

  FileSystem& fs_ = PosixFileSystem();
  const std::string path_;
};

TEST_F(Safetensors, EveryDtypeAndShapeComesBackInOrder) {
  std::vector<NamedTensor> tensors;
  for (const Shape& shape : {Shape{3}, Shape{}, Shape{0, 3}, Shape{2, 3, 1}}) {
    for (DType dtype : kAllDTypes) {
      Tensor t = Tensor::Zeros(dtype, shape);
      auto* bytes = static_cast<uint8_t*>(t.mutable_raw_data());
      for (size_t i = 0; i < t.num_bytes(); ++i) {
        bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : i * 37);
      }
      tensors.push_back({std::string(Name(dtype)) + shape.ToString(), t});
    }
  }
  const SafetensorsMetadata metadata = {{"format", "pt"},
                                        {"\"\\\n\x01", "\xc3\xa9\xf0\x9f\x9a\xa3"}};
  WriteSafetensors(fs_, path_, tensors, metadata);
  const SafetensorsFile file = ReadSafetensors(fs_, path_);
  EXPECT_EQ(file.metadata, metadata);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.tensors[i].name, tensors[i].name);
    EXPECT_TRUE(file.tensors[i].tensor.Equals(tensors[i].tensor)) << tensors[i].name;
  }
  EXPECT_NE(file.Find("f32[3]"), nullptr);
  EXPECT_EQ(file.Find("f32[4]"), nullptr);
}

TEST_F(Safetensors, TheBytesAreThoseOfTheLayout) {
  WriteSafetensors(fs_, path_,
                   std::vector<NamedTensor>{{"b", Tensor::From<uint8_t>({2}, {'x', 'y'})},
                                            {"a", Tensor::Zeros(DType::kF32, {0, 4})}},
                   {{"k", "v"}});
  const std::string json =
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
      R"("a":{"dtype":"F32","shape":[0,4],"data_offsets":[2,2]}})";
  const std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  EXPECT_EQ(fs_.ReadAll(path_), File(padded, "xy"));
}

TEST_F(Safetensors, AFileWithoutTensorsIsAFile) {
  WriteSafetensors(fs_, path_, {});
  EXPECT_TRUE(ReadSafetensors(fs_, path_).tensors.empty());
  EXPECT_TRUE(Read(File("{}", "")).tensors.empty());
}

TEST_F(Safetensors, UnalignedOffsetsAndAnyOrderOfTheHeaderAreRead) {
  const std::string json =
      R"( "w" : { "shape" : [ 1 ] , "dtype":"I32", "data_offsets": [1, 5] },
          "\u00e9\ud83d\udea3\/": {"dtype":"U8","shape":[1],"data_offsets":[0,1]} } )";
  const SafetensorsFile file = Read(File("{" + json, std::string("A\x01\0\0\0", 5)));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].tensor.item<int32_t>(), 1);
  EXPECT_EQ(file.tensors[1].name, "\xc3\xa9\xf0\x9f\x9a\xa3/");
}

TEST_F(Safetensors, NamesThatCannotBeWrittenAreRefused) {
  const Tensor t = Tensor::Scalar(1.0f);
  auto write = [&](std::vector<NamedTensor> tensors) { WriteSafetensors(fs_, path_, tensors); };
  EXPECT_THROW(write({{"a", t}, {"a", t}}), Error);
  EXPECT_THROW(write({{"__metadata__", t}}), Error);
  EXPECT_THROW(write({{"\xff", t}}), Error);
  EXPECT_FALSE(fs_.Exists(path_));
}

TEST_F(Safetensors, EveryCutOffFileIsRefused) {
  const std::string whole = File(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "abc");
  EXPECT_EQ(ErrorOf(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "no error") << size;
  }
  EXPECT_EQ(ErrorOf(whole.substr(0, whole.size() - 1)),
            "cut off: the tensors take 3 bytes, but 2 follow the header");
  EXPECT_EQ(ErrorOf(whole + "d"), "too long: the tensors take 3 bytes, but 4 follow the header");
}

TEST_F(Safetensors, HeadersOfAbsurdLengthAreRefused) {
  EXPECT_EQ(ErrorOf(File("{}", "", ~uint64_t{0})),
            "the header has 18446744073709551615 bytes, the most is 100000000");
  EXPECT_EQ(ErrorOf(File("{}", "", 50)), "cut off: the header has 50 bytes, but 2 are there");
}

TEST_F(Safetensors, OverlapsAndGapsAreRefused) {
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                    "abc"),
            "'b' begins at byte 1 of the data, overlapping, before byte 2 where the one before it "
            "ends");
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", "abc"),
            "'a' begins at byte 2 of the data, after byte 0 where the one before it ends");
}

TEST_F(Safetensors, OffsetsMustFitTheShape) {
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "abc"),
            "'a' is f32[1], which does not take the bytes 0 to 3");
  for (const char* shape : {"[4294967296,4294967296]", "[4294967296,4294967296,0]",
                            "[9223372036854775807]", "[9223372036854775808]", "[-1]", "[1.0]",
                            "[1e3]", "[03]", "[1,1,1,1,1,1,1,1,3]", "3", "[3,]", "[,3]"}) {
    const std::string json = std::string(R"({"a":{"dtype":"U8","shape":)") + shape;
    EXPECT_NE(ErrorOf(json + R"(,"data_offsets":[0,3]}})", "abc"), "no error") << shape;
  }
  EXPECT_NE(ErrorOf(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[3,0]}})", "abc"), "no error");
}

TEST_F(Safetensors, DuplicatesAreRefused) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(ErrorOf("{\"a\":" + entry + "}", ""), "no error");
  EXPECT_NE(ErrorOf("{\"a\":" + entry + ",\"a\":" + entry + "}", ""), "no error");
  EXPECT_NE(ErrorOf("{\"a\":" + entry + ",\"\\u0061\":" + entry + "}", ""), "no error");
  EXPECT_NE(ErrorOf(R"({"__metadata__":{"a":"","a":""}})", ""), "no error");
  EXPECT_NE(ErrorOf(R"({"__metadata__":{},"__metadata__":{}})", ""), "no error");
  EXPECT_NE(ErrorOf(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", ""),
            "no error");
}

TEST_F(Safetensors, MalformedJsonIsRefused) {
  for (const char* json :
       {"",
        " {}",
        "[]",
        "{",
        "{}x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1}",
        "{\"a\":{}}",
        "{,}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":0}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":{\"a\":\"\\x\"}}",
        "{\"__metadata__\":{\"a\":\"\\ud83d\"}}",
        "{\"__metadata__\":{\"a\":\"\\udea3\"}}",
        "{\"__metadata__\":{\"a\":\"\\u12g4\"}}",
        "{\"__metadata__\":{\"a\":\"\xff\"}}",
        "{\"__metadata__\":{\"a\":\"\n\"}}",
        "{\"__metadata__\":{\"a\":\"\xc0\x80\"}}",
        "{\"__metadata__\":{\"a\":\"\xed\xa0\x80\"}}",
        "{\"__metadata__\":{\"a\":\"\\"}) {
    EXPECT_NE(ErrorOf(json, ""), "no error") << json;
  }
}

TEST_F(Safetensors, OtherDtypesAreNamed) {
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "a"),
            "'a' has the dtype 'F8_E4M3', which is not supported; wanted one of F64 F32 F16 BF16 "
            "I8 U8 I32 I64 U64 BOOL");
}

TEST_F(Safetensors, ABoolThatIsNeitherTrueNorFalseIsRefused) {
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\x07"),
            "'a': element 0 of a bool tensor is the byte 7, wanted 0 or 1");
}

}  // namespace
}  // namespace catamaran
