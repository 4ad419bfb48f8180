// Any records are learned from or refused with an Error; what a commit keeps of them, loaded again,
// goes on as it would have gone on. The input is a sequence of records: type, seconds since the one
// before, two bytes of length, payload.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "catamaran/base/error.h"
#include "catamaran/base/unaligned.h"
#include "catamaran/stream/join/example_stream.h"

namespace {

using namespace catamaran;

// Rows of a record by the schema that it names, as training reads them.
void ReadRows(const ExampleStream& stream, const LogRecord& record) {
  LoggedRows rows;
  if (record.type == static_cast<uint8_t>(RecordType::kExample)) {
    ExampleRecord example;
    Decode(record.payload, example);
    rows = example.rows;
  } else if (record.type == static_cast<uint8_t>(RecordType::kImpression)) {
    ImpressionRecord impression;
    Decode(record.payload, impression);
    rows = impression.rows;
  } else {
    return;
  }
  RowBlock block;
  DecodeRows(rows, stream.FindSchema(rows.schema).columns, block);
  if (block.rows() != rows.rows) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ExampleStream stream;
  LogRecord record;
  StreamAction action;
  while (size >= 4) {
    record.type = static_cast<uint8_t>(data[0] % 16);
    record.time_ns += int64_t{data[1]} * 1'000'000'000;
    const size_t bytes = std::min<size_t>(unaligned::Load<uint16_t>(data + 2), size - 4);
    record.payload = {reinterpret_cast<const std::byte*>(data + 4), bytes};
    record.offset = stream.position();
    record.next = record.offset + 24 + bytes;
    data += 4 + bytes;
    size -= 4 + bytes;
    try {
      stream.Apply(record, action);
      ReadRows(stream, record);
    } catch (const Error&) {
      return 0;  // whoever follows a log stops at such a record
    }
    const std::string kept = stream.Save();
    ExampleStream again;
    again.Load(kept);
    if (again.Save() != kept || again.position() != stream.position()) std::abort();
  }
  // What is kept is not trusted either.
  try {
    ExampleStream other;
    other.Load({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
  }
  return 0;
}
