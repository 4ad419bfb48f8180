// ir/proto_dims.h
//
// The lists of dimensions and types of a stored program, checked and rebuilt. Private to
// proto_read.cc.

#pragma once

#include <cstdint>
#include <vector>

#include "catamaran/ir/dim.h"
#include "catamaran/ir/program.pb.h"
#include "catamaran/ir/type.h"

namespace catamaran {

class ProtoPools {
 public:
  // Throws an Error when an entry is not what a writer makes. The spelling of all dimensions is
  // taken out of `budget`, which bounds the memory: a few bytes can name a long expression.
  ProtoPools(const v1::Program& program, size_t& budget);

  // For a file of that many bytes, with all that it imports.
  static size_t BudgetOf(size_t file_bytes) { return 16 * file_bytes + (size_t{1} << 20); }

  // Throw an Error when there is no such entry. Type 0 is the empty one.
  const Dim& dim(uint32_t place) const;
  const Type& type(uint32_t number) const;

  // Throws an Error for a number that is no dtype.
  static DType ToDType(int number);

 private:
  Dim ReadDim(const v1::Dim& dim);
  Dim ReadFactor(const v1::Dim::Factor& factor);
  Type ReadType(const v1::Type& type);
  void Charge(const Dim& dim);

  size_t& budget_;
  std::vector<Dim> dims_;
  std::vector<Type> types_;       // types_[0] is the empty one
  std::vector<int> type_depths_;  // how many stacks and chans
};

}  // namespace catamaran
