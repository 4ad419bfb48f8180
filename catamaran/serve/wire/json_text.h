// serve/wire/json_text.h
//
// JSON as text, appended piece by piece.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catamaran/tensor/tensor.h"

namespace catamaran {

// In quotation marks. An Error if it is not UTF-8.
void AppendJsonText(std::string& out, std::string_view text);
// The same for what others wrote (messages): bytes that are not UTF-8 become question marks.
void AppendJsonMessage(std::string& out, std::string_view text);

// Shortest text that reads back as the same number; the texts "NaN", "Infinity" and "-Infinity" for
// what JSON has no numbers for.
void AppendJsonNumber(std::string& out, double value);
void AppendJsonNumber(std::string& out, float value);

// Element i, as JSON has it.
void AppendJsonElement(std::string& out, const Tensor& tensor, int64_t i);
// All elements with commas between them, without brackets.
void AppendJsonElements(std::string& out, const Tensor& tensor);

}  // namespace catamaran
