// data/text/text_reader.h
//
// What the readers of text formats share: rows come from a CsvSplitter, bad ones are reported with
// file and line and skipped as the user allows, and a position is the offset and the line of the
// next row.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/reader.h"
#include "catamaran/data/text/csv_splitter.h"

namespace catamaran {

class TextReader : public RowReader {
 public:
  const Schema& schema() const final { return schema_; }
  bool Read(int64_t max_rows, RowBlock& block) final;
  Position position() const final;
  void Seek(const Position& position) final;
  int64_t bad_rows() const final { return bad_rows_.count(); }
  RowPlaces places() const final { return {.file = path(), .lines = lines_}; }

 protected:
  // `kind` names the format in positions and must be a literal.
  TextReader(std::string_view kind, std::unique_ptr<CsvSplitter> rows, BadRowOptions bad_rows);

  // Appends the row that rows() is at to every column of `block`, or returns Bad(…).
  virtual bool Decode(RowBlock& block) = 0;

  // Whether the row is none, as a comment.
  virtual bool SkipRow() { return false; }

  // Called once, by the constructors of formats, when they know it: rows() is at the first row.
  void SetSchema(Schema schema);

  // Says why the row is bad, without its place; false.
  bool Bad(std::string problem);
  // The same; where the row ends is not known either, so that reading goes on at the next line.
  bool BadQuotes(std::string problem);

  CsvSplitter& rows() { return *rows_; }
  const std::string& path() const { return rows_->path(); }

 private:
  const std::string_view kind_;
  const std::unique_ptr<CsvSplitter> rows_;
  Schema schema_;
  BadRows bad_rows_;
  const int64_t bad_rows_before_;
  uint64_t first_offset_ = 0;
  uint64_t first_line_ = 1;
  std::string problem_;
  bool lost_ = false;
  std::vector<int64_t> lines_;  // of the rows that were read last
};

// For messages: in quotes, cut to some characters, what cannot be printed as \xNN.
std::string Shown(std::string_view text);

// Opens the file, decompressed where it is gzip'd, and splits it with the best code there is.
std::unique_ptr<CsvSplitter> OpenSplitter(const FileSystem& fs, const std::string& path,
                                          CsvSplitter::Options options);

// The same for formats whose rows are lines: a row has one field.
std::unique_ptr<CsvSplitter> OpenLines(const FileSystem& fs, const std::string& path,
                                       const TextOptions& options, bool keep_empty_lines = false);

// Whether the path ends with one of the endings, ".gz" behind it or not, in any case.
bool HasEnding(std::string_view path, std::initializer_list<std::string_view> endings);

}  // namespace catamaran
