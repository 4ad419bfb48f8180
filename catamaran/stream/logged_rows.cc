// Rows to the bytes that records hold, and back.

#include <cstring>

#include "catamaran/stream/record_proto.h"

namespace catamaran {
namespace {

constexpr std::string_view kWhat = "rows in the log";
// A column of one row that stands for all of them.
constexpr uint64_t kMaxExpandedBytes = uint64_t{1} << 32;

template <class T>
std::string BytesOf(const Buffer<T>& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size() * sizeof(T)};
}

template <class T>
void FromBytes(const std::string& bytes, Buffer<T>& buffer) {
  if (bytes.size() % sizeof(T) != 0)
    Fail(ErrorCode::kBadData, "{}: damaged: {} bytes of a column", kWhat, bytes.size());
  buffer.resize(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
}

void FromProto(const proto::Columns::Values& from, ColumnBlock& to) {
  FromBytes(from.floats(), to.floats);
  FromBytes(from.ints(), to.ints);
  FromBytes(from.chars(), to.bytes);
  FromBytes(from.offsets(), to.offsets);
}

}  // namespace

LoggedRows EncodeRows(uint64_t schema_id, const RowBlock& block, int64_t rows,
                      const std::vector<bool>& one_row) {
  proto::Columns message;
  for (int c = 0; c < block.schema().size(); ++c) {
    proto::Columns::Values& values = *message.add_columns();
    values.set_floats(BytesOf(block[c].floats));
    values.set_ints(BytesOf(block[c].ints));
    values.set_chars(BytesOf(block[c].bytes));
    values.set_offsets(BytesOf(block[c].offsets));
    values.set_one_row(rows > 1 && !one_row.empty() && one_row[static_cast<size_t>(c)]);
  }
  return {schema_id, rows, Serialize(message)};
}

void DecodeRows(const LoggedRows& rows, const Schema& schema, RowBlock& out) {
  const auto message = ParseMessage<proto::Columns>(std::as_bytes(std::span(rows.bytes)), kWhat);
  if (message.columns_size() != schema.size()) {
    Fail(ErrorCode::kBadData, "{}: damaged: {} columns; their schema has {}", kWhat,
         message.columns_size(), schema.size());
  }
  if (rows.rows < 0 || rows.rows > INT32_MAX)
    Fail(ErrorCode::kBadData, "{}: damaged: {} rows", kWhat, rows.rows);
  out.Begin(schema);
  for (int c = 0; c < schema.size(); ++c) {
    const proto::Columns::Values& values = message.columns(c);
    if (!values.one_row()) {
      FromProto(values, out[c]);
      continue;
    }
    // One row for all. It is checked as a block of its own before it is taken many times.
    const Schema single(std::vector<Column>{schema[c]});
    RowBlock one(single), all(single);
    FromProto(values, one[0]);
    one.SetRows(1);
    one.Check(kWhat);
    if (static_cast<uint64_t>(rows.rows) * values.ByteSizeLong() > kMaxExpandedBytes) {
      Fail(ErrorCode::kBadData, "{}: damaged: {} bytes for each of {} rows", kWhat,
           values.ByteSizeLong(), rows.rows);
    }
    for (int64_t r = 0; r < rows.rows; ++r) all.AppendRows(one, 0, 1);
    out[c] = std::move(all[0]);
  }
  out.SetRows(rows.rows);
  out.Check(kWhat);
}

}  // namespace catamaran
