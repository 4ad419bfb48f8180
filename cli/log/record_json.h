// cli/log/record_json.h
//
// What a record of a model's log says, as JSON and as text.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "catamaran/stream/log/log.h"
#include "catamaran/stream/record.h"
#include "cli/table/words.h"

namespace catamaran::cli {

// The number of a type by its name, "example", or "77". An error of usage that lists the names.
uint8_t ParseRecordType(const std::string& name);

class RecordDescriber {
 public:
  // `rows`: also what is in the rows, by the schemas that went by.
  explicit RecordDescriber(bool rows) : rows_(rows) {}

  // A schema is remembered for the records that name it.
  void Remember(const LogRecord& record);

  // What the payload says. An Error if it is not what its type says. Of a type that nobody knows,
  // and where asked for, the bytes in hexadecimal.
  Json Describe(const LogRecord& record, bool raw) const;

  // Whether the record is about the request with this id.
  static bool Mentions(const LogRecord& record, const std::string& id);

 private:
  Json RowsJson(const LoggedRows& rows) const;

  const bool rows_;
  std::map<uint64_t, Schema> schemas_;
};

// "id=r1 rows=2 predictions=[0.5,0.25]", of the fields of a JSON object.
std::string FieldsText(const Json& fields);

// In one line, whatever bytes are in its texts.
std::string Dump(const Json& json);

}  // namespace catamaran::cli
