#include "catamaran/ir/location.h"

namespace catamaran {

SourceTable::SourceTable() {
  files_.push_back({"<unknown>", "", {0}});
  frames_.push_back({});
}

uint32_t SourceTable::AddFile(std::string_view name, std::string_view text) {
  std::lock_guard lock(mutex_);
  if (text.empty()) {
    auto [it, added] = cpp_files_.try_emplace(std::string(name), files_.size());
    if (!added) return it->second;
  }
  File file{std::string(name), std::string(text), {0}};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return static_cast<uint32_t>(files_.size() - 1);
}

uint32_t SourceTable::AddFrame(std::string what, Location at) {
  std::lock_guard lock(mutex_);
  frames_.push_back({std::move(what), at});
  return static_cast<uint32_t>(frames_.size() - 1);
}

Location SourceTable::FromCpp(const std::source_location& where) {
  return {AddFile(where.file_name()), where.line(), 0, 0};
}

const std::string& SourceTable::file_name(uint32_t file) const {
  std::lock_guard lock(mutex_);
  return files_[file < files_.size() ? file : 0].name;
}

size_t SourceTable::num_files() const {
  std::lock_guard lock(mutex_);
  return files_.size();
}

size_t SourceTable::num_frames() const {
  std::lock_guard lock(mutex_);
  return frames_.size();
}

const std::string& SourceTable::file_text(uint32_t file) const {
  std::lock_guard lock(mutex_);
  return files_[file < files_.size() ? file : 0].text;
}

std::string_view SourceTable::Line(uint32_t file, uint32_t line) const {
  std::lock_guard lock(mutex_);
  if (file >= files_.size()) return {};
  const File& f = files_[file];
  if (line == 0 || line > f.line_starts.size() || f.text.empty()) return {};
  const size_t begin = f.line_starts[line - 1];
  const size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
  std::string_view text = std::string_view(f.text).substr(begin, end - begin);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

SourceFrame SourceTable::frame(uint32_t index) const {
  std::lock_guard lock(mutex_);
  return frames_[index < frames_.size() ? index : 0];
}

std::string SourceTable::ToString(const Location& at) const {
  if (!at.known()) return "<unknown>";
  return file_name(at.file) + ":" + std::to_string(at.line);
}

}  // namespace catamaran
