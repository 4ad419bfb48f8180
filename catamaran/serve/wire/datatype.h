// serve/wire/datatype.h
//
// What the Open Inference Protocol calls element types. BYTES, of which models have none, is
// for texts: raw features that go through the model's transforms.

#pragma once

#include <optional>
#include <string_view>

#include "catamaran/tensor/dtype.h"

namespace catamaran {

inline constexpr std::string_view kBytesDatatype = "BYTES";

// "FP32", "UINT64", …
std::string_view DatatypeName(DType dtype);

// The inverse. An Error that names `input` for all else: the protocol's INT16, UINT16 and UINT32
// too, since no model here takes them.
// REQUIRES: name is not kBytesDatatype.
DType ParseDatatype(std::string_view name, std::string_view input);

}  // namespace catamaran
