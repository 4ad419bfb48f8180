// data/text/csv_splitter.h
//
// Splits text into rows and rows into fields, as RFC 4180 has it: a field that begins with a quote
// ends with one and may hold separators, newlines and doubled quotes; a row ends with LF or CRLF,
// the last one also with the end of the text. Empty lines are no rows, unless wanted. A byte order
// mark at the beginning of the stream is passed over.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/cpu.h"
#include "catamaran/data/text/separators_simd.h"
#include "catamaran/data/text/text_window.h"

namespace catamaran {

// Of the code built for `isa`, or the nearest below it that was built.
FindSeparatorsFn FindSeparators(Isa isa);

// What Unquote found.
enum class QuoteProblem { kNone, kWithinField, kAfterQuote, kNotClosed };

class CsvSplitter {
 public:
  struct Options {
    char separator = ',';  // '\n': rows are lines, and have one field
    char quote = '"';      // 0: quotes are characters like others
    bool keep_empty_lines = false;
    size_t max_row_bytes = size_t{64} << 20;  // longer ones are refused; less than 1 GiB
    Isa isa = Isa::kPlain;
  };
  CsvSplitter(std::unique_ptr<ByteStream> stream, const Options& options);

  // Finds the next row; false at the end of the text. An Error for a row that is too long, as one
  // with a quote that is not closed may be.
  bool Next();

  // The row's fields as they stand in the text, quotes included, without the end of the row; good
  // until the next call of anything but this.
  const std::vector<std::string_view>& fields() const { return fields_; }

  // Whether any field of the row may hold a quote: if not, fields need no Unquote.
  bool may_have_quotes() const { return quotes_; }

  // What a field means: without its quotes, doubled ones halved. `scratch` keeps the characters
  // where that differs from what stands in the text.
  QuoteProblem Unquote(std::string_view field, std::string* scratch,
                       std::string_view* meaning) const;

  // Goes on with the line after the first one of the row that Next found: after a row whose quotes
  // are wrong, nobody knows where it ends.
  void SkipLine();

  // Of the row that Next found: the number of its first line, from 1, and the offset of its first
  // byte in the stream. Before Next and at the end, of the row to come.
  uint64_t line() const { return line_; }
  uint64_t offset() const { return offset_; }

  // Where the next row begins.
  uint64_t next_line() const { return next_line_; }
  uint64_t next_offset() const { return window_.offset() + next_; }

  // Goes on at a row's beginning. An Error if no line begins there: the file is another one.
  void Seek(uint64_t offset, uint64_t line);

  const std::string& path() const { return window_.path(); }

 private:
  bool FillAndFind();
  void Find();
  void EndLastRow();

  TextWindow window_;
  const Options options_;
  const FindSeparatorsFn find_;

  // Positions in window_.text() of the ends of fields and rows, from that of the row at next_ on.
  std::unique_ptr<uint32_t[]> ends_;
  size_t ends_capacity_ = 0;
  size_t ends_count_ = 0;
  size_t ends_used_ = 0;
  bool quotes_ = false;
  bool in_quotes_ = false;
  bool ended_ = false;

  size_t next_ = 0;  // in window_.text()
  size_t row_ = 0;   // of the row that Next found
  uint64_t line_ = 1;
  uint64_t next_line_ = 1;
  uint64_t offset_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace catamaran
