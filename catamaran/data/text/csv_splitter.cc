#include "catamaran/data/text/csv_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {

namespace {
constexpr size_t kFindBytes = size_t{16} << 10;   // at once; a multiple of 64
constexpr size_t kMaxRowBytes = size_t{1} << 30;  // positions have 32 bits
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
}  // namespace

FindSeparatorsFn FindSeparators([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::FindSeparators;
  if (isa == Isa::kAvx2) return avx2::FindSeparators;
#endif
  return plain::FindSeparators;
}

CsvSplitter::CsvSplitter(std::unique_ptr<ByteStream> stream, const Options& options)
    : window_(std::move(stream), options.max_row_bytes),
      options_(options),
      find_(FindSeparators(options.isa)) {
  if (options.max_row_bytes == 0 || options.max_row_bytes >= kMaxRowBytes) {
    Fail("{}: rows of up to {} bytes cannot be read; the most is {}", path(), options.max_row_bytes,
         kMaxRowBytes - 1);
  }
}

// Looks for the ends of fields in all of window_.text() from next_ on.
void CsvSplitter::Find() {
  ends_count_ = ends_used_ = 0;
  quotes_ = in_quotes_ = false;
  const std::string_view text = window_.text();
  for (size_t at = next_; at < text.size(); at += kFindBytes) {
    const size_t size = std::min(kFindBytes, text.size() - at);
    if (ends_count_ + size + 1 > ends_capacity_) {
      const size_t larger = std::max(ends_capacity_ * 2, ends_count_ + size + 1);
      std::unique_ptr<uint32_t[]> ends(new uint32_t[larger]);
      std::copy_n(ends_.get(), ends_count_, ends.get());
      ends_ = std::move(ends);
      ends_capacity_ = larger;
    }
    ends_count_ += find_(text.data() + at, size, static_cast<uint32_t>(at), options_.separator,
                         options_.quote, &in_quotes_, &quotes_, ends_.get() + ends_count_);
  }
}

// The last row need not have an end; it gets one, in the padding.
void CsvSplitter::EndLastRow() {
  const std::string_view text = window_.text();
  const size_t size = text.size();
  if (!ended_ || next_ >= size) return;
  if (ends_count_ > 0 && ends_[ends_count_ - 1] == size - 1 && text.back() == '\n') return;
  *window_.mutable_end() = '\n';
  ends_[ends_count_++] = static_cast<uint32_t>(size);
}

// Brings more of the file behind the row at next_, which becomes the window's first. False when
// there is nothing left.
bool CsvSplitter::FillAndFind() {
  window_.Consume(next_);
  next_ = 0;
  const bool first = window_.offset() == 0;
  if (!window_.Fill()) {
    if (window_.full()) {
      Fail(ErrorCode::kBadData, "{}:{}: a row of more than {} bytes{}", window_.path(), next_line_,
           options_.max_row_bytes, in_quotes_ ? "; is a quote not closed?" : "");
    }
    ended_ = true;
  }
  if (first && window_.text().starts_with(kByteOrderMark)) next_ = kByteOrderMark.size();
  Find();
  EndLastRow();
  return next_ < window_.text().size();
}

bool CsvSplitter::Next() {
  for (;;) {
    const char* text = window_.text().data();
    fields_.clear();
    size_t start = next_;
    size_t i = ends_used_;
    bool whole = false;
    for (; i < ends_count_; ++i) {
      const size_t end = ends_[i];
      fields_.emplace_back(text + start, end - start);
      start = end + 1;
      if (text[end] == '\n') {
        whole = true;
        break;
      }
    }
    if (!whole) {
      offset_ = next_offset();
      line_ = next_line_;
      if (ended_ || !FillAndFind()) return false;
      continue;
    }
    line_ = next_line_;
    offset_ = next_offset();
    row_ = next_;
    next_ = std::min(start, window_.text().size());
    ends_used_ = i + 1;
    next_line_ += 1;
    if (quotes_) {
      const char* const row_end = text + start - 1;
      for (const char* at = text + row_;
           (at = static_cast<const char*>(
                std::memchr(at, '\n', static_cast<size_t>(row_end - at)))) != nullptr;
           ++at) {
        ++next_line_;
      }
    }
    std::string_view& last = fields_.back();
    if (last.ends_with('\r')) last.remove_suffix(1);
    if (fields_.size() == 1 && last.empty() && !options_.keep_empty_lines) continue;
    return true;
  }
}

QuoteProblem CsvSplitter::Unquote(std::string_view field, std::string* scratch,
                                  std::string_view* meaning) const {
  const char quote = options_.quote;
  if (quote == 0 || field.empty() || field.front() != quote) {
    *meaning = field;
    return quote != 0 && field.find(quote) != std::string_view::npos ? QuoteProblem::kWithinField
                                                                     : QuoteProblem::kNone;
  }
  const std::string_view inner = field.substr(1);
  size_t at = inner.find(quote);
  if (at == std::string_view::npos) return QuoteProblem::kNotClosed;
  if (at + 1 == inner.size()) {
    *meaning = inner.substr(0, at);
    return QuoteProblem::kNone;
  }
  scratch->clear();
  size_t from = 0;
  for (;;) {
    scratch->append(inner.substr(from, at - from));
    if (at + 1 == inner.size()) break;
    if (inner[at + 1] != quote) return QuoteProblem::kAfterQuote;
    scratch->push_back(quote);
    from = at + 2;
    at = inner.find(quote, from);
    if (at == std::string_view::npos) return QuoteProblem::kNotClosed;
  }
  *meaning = *scratch;
  return QuoteProblem::kNone;
}

void CsvSplitter::SkipLine() {
  // The window still holds the row: it moves only when the next one is looked for.
  const std::string_view text = window_.text();
  const size_t newline = text.find('\n', row_);
  next_ = newline == std::string_view::npos ? text.size() : newline + 1;
  next_line_ = line_ + 1;
  Find();
  EndLastRow();
}

void CsvSplitter::Seek(uint64_t offset, uint64_t line) {
  // What is before a line says whether it is one; the end of a file may come without a newline.
  const bool may_be_inside = offset > 0 && offset != kByteOrderMark.size();
  window_.Seek(offset - (may_be_inside ? 1 : 0));
  if (may_be_inside) {
    if (window_.Fill()) {
      const bool line_begins = window_.text()[0] == '\n';
      window_.Consume(1);
      if (!line_begins && (!window_.text().empty() || window_.Fill())) {
        Fail("{}: no line begins at byte {}; is it another file than it was?", path(), offset);
      }
    }
  }
  next_ = row_ = 0;
  ends_count_ = ends_used_ = 0;
  quotes_ = in_quotes_ = ended_ = false;
  line_ = next_line_ = line;
  offset_ = offset;
}

}  // namespace catamaran
