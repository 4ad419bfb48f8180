// data/npy_test.cc

#include "catamaran/data/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

class Npy : public ::testing::Test {
 protected:
  Npy() : path_(::testing::TempDir() + std::to_string(getpid()) + ".npy") {}
  ~Npy() override {
    if (fs_.Exists(path_)) fs_.Remove(path_);
  }

  // Reads a file of these bytes and returns the message of the error without the file's name,
  // which it must begin with.
  std::string ErrorOf(const std::string& bytes) {
    WriteFileAtomically(fs_, path_, bytes);
    try {
      ReadNpy(fs_, path_);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
      return message.substr(std::min(message.size(), path_.size() + 2));
    }
    return "no error";
  }

  Tensor Read(const std::string& bytes) {
    WriteFileAtomically(fs_, path_, bytes);
    return ReadNpy(fs_, path_);
  }

  // A file of version 1 with that dictionary.
  static std::string File(const std::string& dictionary, const std::string& data) {
    std::string header = dictionary + "\n";
    std::string out("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(header.size() & 0xff);
    out += static_cast<char>(header.size() >> 8);
    return out + header + data;
  }

  static std::string Shaped(const std::string& shape, const std::string& data) {
    return File("{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }", data);
  }

  FileSystem& fs_ = PosixFileSystem();
  const std::string path_;
};

TEST_F(Npy, EveryDtypeButBf16ComesBackAsItWas) {
  for (DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{5}, Shape{2, 3, 4}}) {
      Tensor t = Tensor::Zeros(dtype, shape);
      auto* bytes = static_cast<uint8_t*>(t.mutable_raw_data());
      for (size_t i = 0; i < t.num_bytes(); ++i) {
        bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : i * 37);
      }
      if (dtype == DType::kBF16) {
        EXPECT_THROW(WriteNpy(fs_, path_, t), Error);
      } else {
        WriteNpy(fs_, path_, t);
        EXPECT_TRUE(ReadNpy(fs_, path_).Equals(t)) << t;
      }
    }
  }
}

TEST_F(Npy, WritesTheBytesThatNumpyWrites) {
  WriteNpy(fs_, path_, Tensor::From<uint8_t>({3}, {'a', 'b', 'c'}));
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  header.append(127 - 10 - header.size(), ' ');
  const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\nabc";
  EXPECT_EQ(fs_.ReadAll(path_), expected);
}

TEST_F(Npy, FortranOrderIsTransposedWhileReading) {
  // [[0, 1, 2], [3, 4, 5]], column after column.
  const std::string data("\0\3\1\4\2\5", 6);
  EXPECT_TRUE(Read(File("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", data))
                  .Equals(Tensor::From<uint8_t>({2, 3}, {0, 1, 2, 3, 4, 5})));
  const std::string cube("\0\4\2\6\1\5\3\7", 8);
  EXPECT_TRUE(Read(File("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2, 2), }", cube))
                  .Equals(Tensor::From<int8_t>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})));
}

TEST_F(Npy, ReadsLaterVersionsAndOtherSpellings) {
  const std::string header = "{\"shape\":(2),\"fortran_order\":False,\"descr\":\"<u1\"}";
  std::string file("\x93NUMPY\x02\x00", 8);
  file += {static_cast<char>(header.size()), 0, 0, 0};
  EXPECT_EQ(Read(file + header + "ab").data<uint8_t>()[1], 'b');
}

TEST_F(Npy, EveryCutOffFileIsRefused) {
  const std::string whole = Shaped("(2, 2)", "abcd");
  EXPECT_EQ(Read(whole).shape(), Shape({2, 2}));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "no error") << size;
  }
  EXPECT_EQ(ErrorOf(whole.substr(0, whole.size() - 1)),
            "cut off: u8[2, 2] takes 4 bytes, but 3 follow the header");
  EXPECT_EQ(ErrorOf(whole + "e"), "too long: u8[2, 2] takes 4 bytes, but 5 follow the header");
}

TEST_F(Npy, ShapesThatTheFileCannotHoldAreRefusedBeforeAllocating) {
  EXPECT_NE(ErrorOf(Shaped("(4611686018427387904,)", "a")), "no error");
  EXPECT_NE(ErrorOf(Shaped("(4294967296, 4294967296)", "a")), "no error");
  EXPECT_NE(ErrorOf(Shaped("(4294967296, 4294967296, 0)", "")), "no error");
  EXPECT_NE(ErrorOf(Shaped("(99999999999999999999,)", "a")), "no error");
  EXPECT_NE(ErrorOf(Shaped("(1, 1, 1, 1, 1, 1, 1, 1, 1)", "a")), "no error");
  EXPECT_NE(ErrorOf(Shaped("(-1,)", "a")), "no error");
  const std::string f8 =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}";
  EXPECT_NE(ErrorOf(File(f8, "")), "no error");
  std::string long_header("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_EQ(ErrorOf(long_header), "the .npy header has 4294967295 bytes, the most is 65536");
}

TEST_F(Npy, MalformedHeadersAreRefused) {
  const std::string good = "'descr': '|u1', 'fortran_order': False, 'shape': (1,)";
  EXPECT_EQ(ErrorOf(File("{" + good + "}", "a")), "no error");
  for (const std::string& bad : {
           std::string("{}"),
           std::string(""),
           "{" + good,
           "{" + good + "} x",
           "{" + good + ", 'more': 1}",
           "{" + good + ", 'shape': (1,)}",
           "{" + good + " 'shape': (1,)}",
           std::string("{'descr': '|u1', 'fortran_order': False}"),
           std::string("{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}"),
           std::string("{'descr': '|u1', 'fortran_order': False, 'shape': 1}"),
           std::string("{'descr': '|u1, 'fortran_order': False, 'shape': (1,)}"),
           std::string("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
       }) {
    EXPECT_NE(ErrorOf(File(bad, "a")), "no error") << bad;
  }
  EXPECT_EQ(ErrorOf("PK\x03\x04 an archive"), "not an .npy file: it begins with other bytes");
}

TEST_F(Npy, OtherDtypesAreNamed) {
  const std::string header = "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}";
  EXPECT_EQ(ErrorOf(File(header, "abcd")),
            "the .npy dtype '>f4' is not supported; wanted one of <f8 <f4 <f2 |i1 |u1 <i4 <i8 <u8 "
            "|b1");
}

TEST_F(Npy, ABoolThatIsNeitherTrueNorFalseIsRefused) {
  const std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(ErrorOf(File(header, "\x01\x02")),
            "element 1 of a bool tensor is the byte 2, wanted 0 or 1");
}

}  // namespace
}  // namespace catamaran
