// data/npy.h
//
// NumPy's .npy files: one tensor each. Reads versions 1 to 3 of the format, little-endian, in C
// or Fortran order (the latter is transposed while reading); writes version 1 in C order, byte for
// byte what numpy.save writes. All dtypes but bf16, which the format has no name for.
//
// Files are not trusted: a header that is cut off, malformed or promises more than the file holds
// is an Error that begins with the file's name, and no memory is allocated on its word.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "catamaran/base/file.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

// An Error also if the file goes on after the tensor.
Tensor ReadNpy(const FileSystem& fs, const std::string& path);

// Replaces the file atomically. An Error for bf16: cast to f32 first.
void WriteNpy(FileSystem& fs, const std::string& path, const Tensor& tensor);

// What stands before the elements.
struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  Shape shape;
  size_t data_offset = 0;  // in the file
};

// Headers that are longer than this are refused; real ones have about a hundred bytes.
inline constexpr size_t kMaxNpyHeader = size_t{1} << 16;

// `start` is the beginning of the file: all of it, or at least 12 + kMaxNpyHeader bytes. Errors
// begin with `file`.
NpyHeader ParseNpyHeader(std::string_view start, std::string_view file);

// The tensor whose elements `stored` holds in Fortran order, in ours.
Tensor FromFortranOrder(const Tensor& stored);

// What stands before the elements of a file that WriteNpy writes, for those who write the elements
// of a large one piece by piece: row-major, little-endian. An Error for bf16.
std::string FormatNpyHeader(DType dtype, const Shape& shape);

}  // namespace catamaran
