// serve/batch/assemble.cc

#include "catamaran/serve/batch/assemble.h"

#include <cstring>

namespace catamaran {
namespace {

// Writes stretches of bytes one after another.
class Writer {
 public:
  explicit Writer(Tensor& to) : at_(static_cast<std::byte*>(to.mutable_raw_data())) {}

  void Write(const std::byte* from, size_t bytes, int64_t times = 1) {
    if (bytes == 0) return;
    for (int64_t i = 0; i < times; ++i, at_ += bytes) std::memcpy(at_, from, bytes);
  }

 private:
  std::byte* at_;
};

const std::byte* Bytes(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.raw_data());
}

// Bytes of one entry of the leading axis.
size_t EntryBytes(const Tensor& tensor) {
  size_t bytes = SizeOf(tensor.dtype());
  for (int axis = 1; axis < tensor.rank(); ++axis) {
    bytes *= static_cast<size_t>(tensor.shape()[axis]);
  }
  return bytes;
}

Shape WithLeading(const Shape& shape, int64_t leading) {
  Shape changed = shape;
  changed.Set(0, leading);
  return changed;
}

Tensor AssembleDense(std::span<const BoundInputs* const> inputs, size_t argument, int64_t rows) {
  const Tensor& first = inputs[0]->arguments[argument].values;
  const size_t row_bytes = EntryBytes(first);
  Tensor all = Tensor::Allocate(first.dtype(), WithLeading(first.shape(), rows));
  Writer writer(all);
  int64_t written = 0;
  for (const BoundInputs* request : inputs) {
    const BoundInput& input = request->arguments[argument];
    if (input.repeat) {
      writer.Write(Bytes(input.values), row_bytes, request->rows);
    } else {
      writer.Write(Bytes(input.values), row_bytes * static_cast<size_t>(request->rows));
    }
    written += request->rows;
  }
  const Tensor& last = inputs.back()->arguments[argument].values;
  const auto last_row = static_cast<size_t>(last.shape()[0] - 1);
  writer.Write(Bytes(last) + last_row * row_bytes, row_bytes, rows - written);
  return all;
}

// The rows of one request's ragged argument, one after another: calls visit(begin, end) in values.
template <class Visit>
void ForEachSequence(const BoundInputs& request, const BoundInput& input, Visit visit) {
  const auto ends = input.offsets.data<int64_t>();
  for (int64_t row = 0; row < request.rows; ++row) {
    const auto at = static_cast<size_t>(input.repeat ? 0 : row);
    visit(ends[at], ends[at + 1]);
  }
}

void AssembleRagged(std::span<const BoundInputs* const> inputs, size_t argument, int64_t rows,
                    Tensor& values, Tensor& offsets) {
  offsets = Tensor::Allocate(DType::kI64, {rows + 1});
  const auto ends = offsets.mutable_data<int64_t>();
  size_t row = 0;
  int64_t total = 0, last_begin = 0, last_end = 0;
  ends[0] = 0;
  for (const BoundInputs* request : inputs) {
    ForEachSequence(*request, request->arguments[argument], [&](int64_t begin, int64_t end) {
      ends[++row] = total += end - begin;
      last_begin = begin;
      last_end = end;
    });
  }
  while (row < static_cast<size_t>(rows)) ends[++row] = total += last_end - last_begin;

  const Tensor& first = inputs[0]->arguments[argument].values;
  const size_t bytes = EntryBytes(first);
  values = Tensor::Allocate(first.dtype(), WithLeading(first.shape(), total));
  Writer writer(values);
  int64_t written = 0;
  for (const BoundInputs* request : inputs) {
    const BoundInput& input = request->arguments[argument];
    const auto one = static_cast<size_t>(input.values.shape()[0]) * bytes;
    writer.Write(Bytes(input.values), one, input.repeat ? request->rows : 1);
    written += request->rows;
  }
  const Tensor& last = inputs.back()->arguments[argument].values;
  const auto width = static_cast<size_t>(last_end - last_begin) * bytes;
  if (width > 0) {
    writer.Write(Bytes(last) + static_cast<size_t>(last_begin) * bytes, width, rows - written);
  }
}

bool RepeatsNothing(const BoundInputs& inputs) {
  for (const BoundInput& input : inputs.arguments) {
    if (input.repeat) return false;
  }
  return true;
}

}  // namespace

void Assemble(const Signature& signature, std::span<const BoundInputs* const> inputs, int64_t rows,
              AssembledBatch& batch) {
  batch.feeds.clear();
  batch.memory.clear();
  if (inputs.size() == 1 && inputs[0]->rows == rows && RepeatsNothing(*inputs[0])) {
    for (const BoundInput& input : inputs[0]->arguments) {
      batch.feeds.push_back(input.offsets.num_elements() > 0
                                ? FeedValue(input.values, input.offsets)
                                : FeedValue(input.values));
    }
    return;
  }
  for (size_t i = 0; i < signature.inputs().size(); ++i) {
    if (signature.inputs()[i].type.is_ragged()) {
      Tensor values, offsets;
      AssembleRagged(inputs, i, rows, values, offsets);
      batch.feeds.emplace_back(values, offsets);
      batch.memory.push_back(std::move(values));
      batch.memory.push_back(std::move(offsets));
    } else {
      Tensor values = AssembleDense(inputs, i, rows);
      batch.feeds.emplace_back(values);
      batch.memory.push_back(std::move(values));
    }
  }
}

void AppendOutput(const std::string& name, const RunResult& result, size_t output, int64_t begin,
                  int64_t end, std::vector<NamedTensor>& outputs) {
  const Tensor& values = result.outputs[output];
  const Tensor& offsets = result.offsets[output];
  if (offsets.num_elements() == 0) {
    outputs.push_back({name, values.SliceLeading(begin, end)});
    return;
  }
  const auto ends = offsets.data<int64_t>();
  const int64_t first = ends[static_cast<size_t>(begin)];
  Tensor own = Tensor::Allocate(DType::kI64, {end - begin + 1});
  for (int64_t row = begin; row <= end; ++row) {
    own.mutable_data<int64_t>()[static_cast<size_t>(row - begin)] =
        ends[static_cast<size_t>(row)] - first;
  }
  outputs.push_back({name, values.SliceLeading(first, ends[static_cast<size_t>(end)])});
  outputs.push_back({name + std::string(kOffsetsSuffix), std::move(own)});
}

void AppendWholeOutput(const std::string& name, const RunResult& result, size_t output,
                       std::vector<NamedTensor>& outputs) {
  outputs.push_back({name, result.outputs[output]});
  if (result.offsets[output].num_elements() > 0) {
    outputs.push_back({name + std::string(kOffsetsSuffix), result.offsets[output]});
  }
}

}  // namespace catamaran
