// serve/learn/tensor_columns.h
//
// Tensors of requests as columns of rows, and as plain numbers.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "catamaran/data/row_block.h"
#include "catamaran/serve/infer.h"
#include "catamaran/stream/record.h"

namespace catamaran {

// The inputs that the columns name, as rows of the log; an input with a leading dimension of 1
// where others have more stands for all rows. `rows` is how many there are at least, and becomes
// how many there are. An Error says which input is missing or wrong; inputs that no column names
// are not looked at.
LoggedRows EncodeTensors(uint64_t schema_id, const Schema& columns,
                         const std::vector<NamedTensor>& inputs, int64_t& rows);

// An input of one number a row, as floats. An Error if there is none of that name, or it has
// another shape.
std::vector<float> NumbersOf(const std::vector<NamedTensor>& inputs, std::string_view name);

// One number of a dense column with one element a row, as a float. REQUIRES: the column is there.
float NumberOf(const RowBlock& block, int column, int64_t row);

}  // namespace catamaran
