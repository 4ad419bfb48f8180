#include "catamaran/data/text/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

TextReader::TextReader(std::string_view kind, std::unique_ptr<CsvSplitter> rows,
                       BadRowOptions bad_rows)
    : kind_(kind),
      rows_(std::move(rows)),
      bad_rows_(bad_rows),
      bad_rows_before_(bad_rows.skipped_before) {}

void TextReader::SetSchema(Schema schema) {
  schema_ = std::move(schema);
  first_offset_ = rows_->next_offset();
  first_line_ = rows_->next_line();
}

bool TextReader::Bad(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool TextReader::BadQuotes(std::string problem) {
  lost_ = true;
  return Bad(std::move(problem));
}

bool TextReader::Read(int64_t max_rows, RowBlock& block) {
  CATAMARAN_CHECK(max_rows > 0);
  block.Begin(schema_);
  lines_.clear();
  while (block.rows() < max_rows && rows_->Next()) {
    if (SkipRow()) continue;
    if (Decode(block)) [[likely]] {
      block.FinishRow();
      lines_.push_back(static_cast<int64_t>(rows_->line()));
      continue;
    }
    block.DropRow();
    bad_rows_.Add(fmt::format("{}:{}: {}", path(), rows_->line(), problem_));
    if (std::exchange(lost_, false)) rows_->SkipLine();
  }
  return block.rows() > 0;
}

Position TextReader::position() const {
  PositionWriter out(kind_);
  out.Put(static_cast<int64_t>(rows_->next_offset()));
  out.Put(static_cast<int64_t>(rows_->next_line()));
  out.Put(bad_rows_.count());
  return out.Take();
}

void TextReader::Seek(const Position& position) {
  if (position.bytes.empty()) {
    rows_->Seek(first_offset_, first_line_);
    bad_rows_.set_count(bad_rows_before_);
    return;
  }
  PositionReader in(position, kind_, path());
  const int64_t offset = in.GetInt();
  const int64_t line = in.GetInt();
  const int64_t bad = in.GetInt();
  in.End();
  if (offset < 0 || line < 1 || bad < 0) Fail("{}: the position is not one of this file", path());
  rows_->Seek(static_cast<uint64_t>(offset), static_cast<uint64_t>(line));
  bad_rows_.set_count(bad);
}

std::string Shown(std::string_view text) {
  size_t shown = std::min<size_t>(text.size(), 40);
  // Not through the middle of a character.
  while (shown > 0 && shown < text.size() && (text[shown] & 0xc0) == 0x80) --shown;
  std::string out = "'";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > shown ? "'…" : "'";
  return out;
}

std::unique_ptr<CsvSplitter> OpenSplitter(const FileSystem& fs, const std::string& path,
                                          CsvSplitter::Options options) {
  options.isa = DetectIsa();
  return std::make_unique<CsvSplitter>(OpenByteStream(fs, path), options);
}

std::unique_ptr<CsvSplitter> OpenLines(const FileSystem& fs, const std::string& path,
                                       const TextOptions& options, bool keep_empty_lines) {
  return OpenSplitter(fs, path,
                      {.separator = '\n',
                       .quote = 0,
                       .keep_empty_lines = keep_empty_lines,
                       .max_row_bytes = options.max_row_bytes});
}

bool HasEnding(std::string_view path, std::initializer_list<std::string_view> endings) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string name;
  std::ranges::transform(path, std::back_inserter(name), lower);
  std::string_view stem = name;
  if (stem.ends_with(".gz")) stem.remove_suffix(3);
  return std::ranges::any_of(endings, [&](auto ending) { return stem.ends_with(ending); });
}

}  // namespace catamaran
