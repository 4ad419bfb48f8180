#include "catamaran/data/pipeline/chunk_reader.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {

// A message about the only row of a block: that it is row 0 of that helps nobody.
std::string WithoutRowNumber(std::string message) {
  constexpr std::string_view kNumber = "row 0: ";
  const size_t at = message.find(kNumber);
  if (at != std::string::npos) message.erase(at, kNumber.size());
  return message;
}

// Whether the error is about rows, so that others may be fine.
bool IsOfRows(const Error& error) {
  return error.code() == ErrorCode::kBadData || error.code() == ErrorCode::kInvalidArgument;
}

// Transforms what can be transformed of a block that has bad rows: halves of it that are refused
// are tried by their halves.
class Salvage {
 public:
  Salvage(const RowSteps& steps, int64_t max_bad, RawRows& raw, RowBlock& out)
      : steps_(steps), max_bad_(max_bad), raw_(raw), out_(out) {
    out_.Begin(steps.transform != nullptr ? steps.transform->schema() : raw.rows.schema());
  }

  void Rows(int64_t begin, int64_t end) {
    if (static_cast<int64_t>(bad_.size()) >= max_bad_) return;
    raw_.part.Begin(raw_.rows.schema());
    raw_.part.AppendRows(raw_.rows, begin, end);
    const RowBlock* good = &raw_.part;
    try {
      if (steps_.transform != nullptr) {
        steps_.transform->Apply(raw_.part, raw_.transformed);
        good = &raw_.transformed;
      }
      if (steps_.check) steps_.check(*good);
    } catch (const Error& error) {
      if (!IsOfRows(error)) throw;
      if (end - begin == 1) {
        bad_.push_back({.before = begin,
                        .message = raw_.places.Of(begin) + ": " + WithoutRowNumber(error.what())});
        return;
      }
      const int64_t middle = begin + (end - begin) / 2;
      Rows(begin, middle);
      Rows(middle, end);
      return;
    }
    out_.AppendRows(*good, 0, good->rows());
  }

  // In order, by the number of the row that was read.
  std::vector<BadRow> TakeBad() { return std::move(bad_); }

 private:
  const RowSteps& steps_;
  const int64_t max_bad_;
  RawRows& raw_;
  RowBlock& out_;
  std::vector<BadRow> bad_;
};

// The rows that could not be read and those that were refused, in the order of the file.
std::vector<BadRow> Merge(std::vector<BadRow> unread, std::vector<BadRow> refused) {
  std::vector<BadRow> all;
  size_t next = 0;
  for (size_t r = 0; r < refused.size(); ++r) {
    while (next < unread.size() && unread[next].before <= refused[r].before) {
      all.push_back(std::move(unread[next++]));
      all.back().before -= static_cast<int64_t>(r);
    }
    all.push_back(std::move(refused[r]));
    all.back().before -= static_cast<int64_t>(r);
  }
  for (; next < unread.size(); ++next) {
    all.push_back(std::move(unread[next]));
    all.back().before -= static_cast<int64_t>(refused.size());
  }
  return all;
}

}  // namespace

ChunkReader::ChunkReader(const OpenRows& open)
    // How many are too many is said by who sees all chunks in order.
    : reader_(open({.limit = std::numeric_limits<int64_t>::max(),
                    .report = [this](const std::string& message) {
                      if (raw_ == nullptr) return;
                      raw_->bad.push_back({.before = raw_->rows.rows(), .message = message});
                    }})) {}

void ChunkReader::Begin(RawRows& raw) {
  raw_ = &raw;
  raw.bad.clear();
  raw.error = nullptr;
}

void ChunkReader::End(bool with_places, RawRows& raw) {
  raw_ = nullptr;
  if (with_places) raw.places = reader_->places();
}

void ChunkReader::ReadPart(int64_t part, bool with_places, RawRows& raw) {
  Begin(raw);
  try {
    reader_->ReadPart(part, raw.rows);
  } catch (...) {
    raw.error = std::current_exception();
    raw.rows.Begin(reader_->schema());
  }
  End(with_places, raw);
}

bool ChunkReader::ReadNext(int64_t max_rows, bool with_places, RawRows& raw) {
  Begin(raw);
  bool more = true;
  try {
    more = reader_->Read(max_rows, raw.rows);
  } catch (...) {
    raw.error = std::current_exception();
    raw.rows.Begin(reader_->schema());
  }
  End(with_places, raw);
  return more;
}

void TransformRows(const RowSteps& steps, int64_t max_bad, RawRows& raw, Chunk& chunk) {
  chunk.error = raw.error;
  const RowTransform* const transform = steps.transform;
  if (transform == nullptr && !steps.check) {
    std::swap(chunk.rows, raw.rows);
    std::swap(chunk.bad, raw.bad);
    return;
  }
  const int64_t rows = raw.rows.rows();
  std::vector<BadRow> refused;
  if (rows == 0) {
    chunk.rows.Begin(transform != nullptr ? transform->schema() : raw.rows.schema());
  } else {
    try {
      if (transform != nullptr) {
        transform->Apply(raw.rows, chunk.rows);
        CATAMARAN_CHECK(chunk.rows.rows() == rows, "{} rows became {}", rows, chunk.rows.rows());
        if (steps.check) steps.check(chunk.rows);
      } else {
        steps.check(raw.rows);
        std::swap(chunk.rows, raw.rows);
      }
    } catch (const Error& error) {
      if (!IsOfRows(error)) throw;
      Salvage salvage(steps, max_bad, raw, chunk.rows);
      salvage.Rows(0, rows);
      refused = salvage.TakeBad();
    }
  }
  chunk.bad = Merge(std::move(raw.bad), std::move(refused));
}

}  // namespace catamaran
