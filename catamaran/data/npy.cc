// data/npy.cc
//
// A file is the magic, two bytes of version, the length of the header (16 bits in version 1, 32
// in later ones), a header that is a Python dictionary in text, padded with spaces, and the
// elements.

#include "catamaran/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"

namespace catamaran {

static_assert(std::endian::native == std::endian::little, "elements are read as they are stored");

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the elements in the files that we write

struct NpyDType {
  DType dtype;
  std::string_view descr;
};
constexpr NpyDType kNpyDTypes[] = {
    {DType::kF64, "<f8"}, {DType::kF32, "<f4"}, {DType::kF16, "<f2"},
    {DType::kI8, "|i1"},  {DType::kU8, "|u1"},  {DType::kI32, "<i4"},
    {DType::kI64, "<i8"}, {DType::kU64, "<u8"}, {DType::kBool, "|b1"},
};

// Reads the header's dictionary: what Python's repr makes of a string, a bool and a tuple.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  NpyHeader Read() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    Expect('{');
    while (!Accept('}')) {
      const std::string_view key = String();
      Expect(':');
      bool* seen = nullptr;
      if (key == "descr") {
        seen = &has_descr;
        header.dtype = ReadDType();
      } else if (key == "fortran_order") {
        seen = &has_order;
        header.fortran_order = Bool();
      } else if (key == "shape") {
        seen = &has_shape;
        header.shape = ReadShape();
      } else {
        Malformed("an unknown key");
      }
      if (std::exchange(*seen, true)) Malformed("a key for the second time");
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size()) Malformed("text after the dictionary");
    if (!has_descr || !has_order || !has_shape) {
      Malformed("a dictionary without all of 'descr', 'fortran_order' and 'shape'");
    }
    return header;
  }

 private:
  [[noreturn]] void Malformed(std::string_view found) const {
    Fail(ErrorCode::kBadData, "{}: malformed .npy header: {} before byte {} of the header", file_,
         found, at_);
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool Accept(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Malformed(fmt::format("no '{}'", c));
  }

  std::string_view String() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') Malformed("no string");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Malformed("a string without an end");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  bool Bool() {
    SkipSpace();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    Malformed("neither True nor False");
  }

  DType ReadDType() {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') {
      Fail(ErrorCode::kBadData, "{}: records of several fields are not supported", file_);
    }
    const std::string_view descr = String();
    for (const NpyDType& entry : kNpyDTypes) {
      if (descr == entry.descr) return entry.dtype;
      // One byte has no order; some writers name one all the same.
      if (entry.descr[0] == '|' && descr.size() == 3 && descr[0] == '<' &&
          descr.substr(1) == entry.descr.substr(1)) {
        return entry.dtype;
      }
    }
    std::string wanted;
    for (const NpyDType& entry : kNpyDTypes) wanted += fmt::format(" {}", entry.descr);
    Fail(ErrorCode::kBadData, "{}: the .npy dtype '{}' is not supported; wanted one of{}", file_,
         descr.substr(0, 32), wanted);
  }

  Shape ReadShape() {
    std::vector<int64_t> dims;
    Expect('(');
    while (!Accept(')')) {
      dims.push_back(Integer());
      if (dims.size() > static_cast<size_t>(kMaxRank)) {
        Fail(ErrorCode::kBadData, "{}: the tensor has more than {} dimensions", file_, kMaxRank);
      }
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
    return Shape(dims);
  }

  int64_t Integer() {
    SkipSpace();
    const size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        Malformed("a dimension that does not fit in 63 bits");
      }
      ++at_;
    }
    if (at_ == start) Malformed("no dimension");
    return value;
  }

  const std::string_view text_;
  const std::string_view file_;
  size_t at_ = 0;
};

// The bytes of the elements. The shape comes from a file, so errors must name it.
size_t DataBytes(const NpyHeader& header, std::string_view file) {
  try {
    int64_t bytes = 0;
    if (!__builtin_mul_overflow(header.shape.num_elements(),
                                static_cast<int64_t>(SizeOf(header.dtype)), &bytes)) {
      return static_cast<size_t>(bytes);
    }
  } catch (const Error&) {
  }
  Fail(ErrorCode::kBadData, "{}: a tensor of shape {} has more bytes than fit in 63 bits", file,
       header.shape.ToString());
}

// Copies elements that are stored first axis fastest to last axis fastest.
template <class Word>
void TransposeElements(const Word* from, Word* to, const Shape& shape) {
  const int64_t count = shape.num_elements();
  int64_t index[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  int64_t stride = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[source];
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

NpyHeader ParseNpyHeader(std::string_view start, std::string_view file) {
  if (!start.starts_with(kMagic))
    Fail(ErrorCode::kBadData, "{}: not an .npy file: it begins with other bytes", file);
  auto byte = [&](size_t i) -> size_t {
    if (i >= start.size())
      Fail(ErrorCode::kStorage, "{}: cut off: it ends within the .npy header", file);
    return static_cast<uint8_t>(start[i]);
  };
  const size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    Fail(ErrorCode::kBadData, "{}: version {}.{} of .npy is not supported; wanted 1.0, 2.0 or 3.0",
         file, version, byte(7));
  }
  size_t length = byte(8) | byte(9) << 8;
  size_t header_at = 10;
  if (version > 1) {
    length |= byte(10) << 16 | byte(11) << 24;
    header_at = 12;
  }
  if (length > kMaxNpyHeader) {
    Fail(ErrorCode::kBadData, "{}: the .npy header has {} bytes, the most is {}", file, length,
         kMaxNpyHeader);
  }
  if (length > 0) byte(header_at + length - 1);
  NpyHeader header = HeaderReader(start.substr(header_at, length), file).Read();
  header.data_offset = header_at + length;
  return header;
}

Tensor FromFortranOrder(const Tensor& stored) {
  Tensor result = Tensor::Allocate(stored.dtype(), stored.shape());
  const void* from = stored.raw_data();
  void* to = result.mutable_raw_data();
  auto transpose = [&]<class Word>(Word) {
    TransposeElements(static_cast<const Word*>(from), static_cast<Word*>(to), stored.shape());
  };
  switch (SizeOf(stored.dtype())) {
    case 1:
      transpose(uint8_t{});
      break;
    case 2:
      transpose(uint16_t{});
      break;
    case 4:
      transpose(uint32_t{});
      break;
    default:
      transpose(uint64_t{});
  }
  return result;
}

Tensor ReadNpy(const FileSystem& fs, const std::string& path) {
  const auto file = fs.OpenRead(path);
  std::string start(std::min<uint64_t>(file->size(), 12 + kMaxNpyHeader), '\0');
  file->ReadExactly(0, std::as_writable_bytes(std::span(start)));
  const NpyHeader header = ParseNpyHeader(start, path);

  const size_t bytes = DataBytes(header, path);
  const uint64_t there = file->size() - header.data_offset;
  if (there != bytes) {
    Fail(ErrorCode::kStorage, "{}: {}: {}{} takes {} bytes, but {} follow the header", path,
         there < bytes ? "cut off" : "too long", Name(header.dtype), header.shape.ToString(), bytes,
         there);
  }
  Tensor tensor = Tensor::Allocate(header.dtype, header.shape);
  file->ReadExactly(header.data_offset,
                    {static_cast<std::byte*>(tensor.mutable_raw_data()), bytes});
  CheckBoolBytes(tensor, path);
  return header.fortran_order && header.shape.rank() > 1 ? FromFortranOrder(tensor) : tensor;
}

std::string FormatNpyHeader(DType dtype, const Shape& shape) {
  const auto* entry = std::find_if(std::begin(kNpyDTypes), std::end(kNpyDTypes),
                                   [&](auto& e) { return e.dtype == dtype; });
  if (entry == std::end(kNpyDTypes)) {
    Fail(".npy has no dtype for {}; cast the tensor to f32 before writing it", Name(dtype));
  }
  std::string dims = fmt::format("{}", fmt::join(shape, ", "));
  if (shape.rank() == 1) dims += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", entry->descr, dims);
  const size_t prefix = kMagic.size() + 4;
  const size_t unpadded = prefix + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
          static_cast<char>(header.size() >> 8)};
  return out + header;
}

void WriteNpy(FileSystem& fs, const std::string& path, const Tensor& tensor) {
  std::string out;
  try {
    out = FormatNpyHeader(tensor.dtype(), tensor.shape());
  } catch (const Error& error) {
    Fail(error.code(), "{}: {}", path, error.what());
  }
  out.reserve(out.size() + tensor.num_bytes());
  if (tensor.num_bytes() > 0) {
    out.append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  }
  WriteFileAtomically(fs, path, out);
}

}  // namespace catamaran
