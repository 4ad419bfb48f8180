// data/reader.h
//
// A RowReader gives the rows of some data in order, a block at a time, and can say where it is so
// that a later reader goes on there.
//
//   auto reader = OpenReader(fs, {"day1.rec", "day2.rec"}, {.columns = {"label", "user"}});
//   RowBlock block;
//   while (reader->Read(4096, block)) { … }
//
// Every Error names the file, and the line or row where there is one.
//
// Thread safety: a reader is used by one thread at a time; different readers, also of the same
// files, are independent.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/data/bad_rows.h"
#include "catamaran/data/column_default.h"
#include "catamaran/data/files/file_options.h"
#include "catamaran/data/position.h"
#include "catamaran/data/row_block.h"
#include "catamaran/data/row_places.h"
#include "catamaran/data/schema.h"
#include "catamaran/data/text/text_options.h"

namespace catamaran {

class RowReader {
 public:
  virtual ~RowReader() = default;

  // The columns of the blocks that Read fills. It does not change.
  virtual const Schema& schema() const = 0;

  // Makes `block` hold the next rows: at least one, at most `max_rows`, which readers may take as a
  // wish to give fewer (at the end of a file or of a stored block) but never more. What was in
  // `block` goes. False, and an empty block, at the end. After an Error nothing is known of
  // `block`, and the next call is a Seek.
  // REQUIRES: max_rows > 0.
  virtual bool Read(int64_t max_rows, RowBlock& block) = 0;

  // The place between the last row that Read gave and the next one.
  virtual Position position() const = 0;

  // The next row is the one that followed when a reader of the same data, with the same options,
  // gave this position. An Error if the position is not one of this data.
  virtual void Seek(const Position& position) = 0;

  // How many rows there are from beginning to end, where that is known without reading them.
  virtual std::optional<int64_t> num_rows() const { return std::nullopt; }

  // The next row is row `row`, counted from the beginning. An Error unless the format has random
  // access (then num_rows() is known) and 0 <= row <= num_rows().
  virtual void SeekRow(int64_t row);

  // Bad rows that were skipped between the beginning and the position.
  virtual int64_t bad_rows() const { return 0; }

  // In how many parts the data lies that can be read each by itself, in any order, for about the
  // cost of reading them in order; one after another they are all the rows. 0: it can only be read
  // in order.
  virtual int64_t num_parts() const { return 0; }

  // Makes `block` all the rows of one part: none, where all are bad. Afterwards nothing is known of
  // position() and bad_rows(), and the next call is another ReadPart or a Seek.
  // REQUIRES: 0 <= part < num_parts().
  virtual void ReadPart(int64_t part, RowBlock& block);

  // Columns that were inferred, and that rows may lack.
  virtual std::vector<std::string> optional_columns() const { return {}; }

  // Where the rows of the block that Read or ReadPart gave last stand in files.
  virtual RowPlaces places() const { return {.file = "data"}; }
};

struct ReaderOptions {
  // The name of a format, as "records"; empty: found by the file's name and first bytes.
  std::string format;
  // The columns wanted, in this order; empty: all. Formats of columns do not read the others.
  std::vector<std::string> columns;
  // What the columns are, for formats that do not say it themselves.
  std::optional<Schema> schema;
  // Of columns that the data need not have. Where each row has its own columns (JSON), rows that
  // lack one get the default; else the reader's schema is without a column that is not there.
  std::vector<ColumnDefault> defaults;
  // JSON: a row that lacks one of the columns, and has no default for it, is a bad row; else its
  // value is missing. Without a schema, a column that a row among the first ones lacks may be
  // missing. `null` always means missing.
  bool need_columns = false;
  BadRowOptions bad_rows;
  // For text formats, and for files that are no text.
  TextOptions text;
  FileOptions files;
};

// The columns that `options` ask for, of all that the data of that path has. An Error that names a
// near miss if one is not there and has no default.
Schema ChooseColumns(const Schema& all, const ReaderOptions& options, const std::string& path);

// A reader of one file, by its format. `fs` must outlive it.
std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::string& path,
                                      const ReaderOptions& options = {});

// A reader of several files, one after another, all of the same schema: that of the first, where
// the format does not say it. Paths may have wildcards, as files/input_paths.h says. A bad row
// counts against the limit wherever it is.
std::unique_ptr<RowReader> OpenReader(const FileSystem& fs, const std::vector<std::string>& paths,
                                      const ReaderOptions& options = {});

}  // namespace catamaran
