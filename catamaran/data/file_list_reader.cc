#include "catamaran/data/file_list_reader.h"

#include <algorithm>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::string_view kKind = "file list";

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class FileListReader final : public RowReader {
 public:
  FileListReader(std::vector<std::string> paths, OpenFile open)
      : paths_(std::move(paths)), open_(std::move(open)), file_(open_(paths_[0], 0)) {
    schema_ = file_->schema();
  }

  const Schema& schema() const override { return schema_; }

  bool Read(int64_t max_rows, RowBlock& block) override {
    part_file_ = nullptr;
    while (!file_->Read(max_rows, block)) {
      if (index_ + 1 == paths_.size()) return false;
      OpenAt(index_ + 1, file_->bad_rows());
    }
    return true;
  }

  Position position() const override {
    PositionWriter out(kKind);
    out.Put(static_cast<int64_t>(index_));
    out.Put(BaseName(paths_[index_]));
    out.Put(file_->bad_rows());
    out.Put(file_->position().bytes);
    return out.Take();
  }

  void Seek(const Position& position) override {
    if (position.bytes.empty()) {
      OpenAt(0, 0);
      return;
    }
    PositionReader in(position, kKind, paths_[0]);
    const auto index = static_cast<uint64_t>(in.GetInt());
    const std::string name(in.GetString());
    const int64_t bad_rows = in.GetInt();
    const Position inner{std::string(in.GetString())};
    in.End();
    if (index >= paths_.size() || BaseName(paths_[index]) != name) {
      Fail("{}: the position is in file {} of a list, '{}'; {}", paths_[0], index + 1, name,
           index < paths_.size() ? fmt::format("here that is '{}'", paths_[index])
                                 : fmt::format("here there are {} files", paths_.size()));
    }
    OpenAt(index, bad_rows);
    file_->Seek(inner);
  }

  std::optional<int64_t> num_rows() const override {
    if (!CountRows()) return std::nullopt;
    return ends_.back();
  }

  void SeekRow(int64_t row) override {
    if (!CountRows()) file_->SeekRow(row);  // says that there is no random access
    if (row < 0 || row > ends_.back()) {
      Fail("{}: there is no row {}; the {} files have {} rows", paths_[0], row, paths_.size(),
           ends_.back());
    }
    const size_t index =
        std::min<size_t>(static_cast<size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin()),
                         paths_.size() - 1);
    OpenAt(index, 0);
    file_->SeekRow(row - (index == 0 ? 0 : ends_[index - 1]));
  }

  int64_t bad_rows() const override { return file_->bad_rows(); }

  int64_t num_parts() const override {
    CountParts();
    return part_ends_.back();
  }

  void ReadPart(int64_t part, RowBlock& block) override {
    CountParts();
    const auto index =
        static_cast<size_t>(std::ranges::upper_bound(part_ends_, part) - part_ends_.begin());
    part_file_ = &FileOfPart(index);
    part_file_->ReadPart(part - (index == 0 ? 0 : part_ends_[index - 1]), block);
  }

  RowPlaces places() const override {
    return part_file_ != nullptr ? part_file_->places() : file_->places();
  }

 private:
  std::unique_ptr<RowReader> Open(size_t index, int64_t bad_rows) const {
    auto file = open_(paths_[index], bad_rows);
    const std::string difference = Difference(schema_, file->schema());
    if (!difference.empty()) {
      Fail("{}: other columns than in {}: {}", paths_[index], paths_[0], difference);
    }
    return file;
  }

  // After an Error the reader is where it was.
  void OpenAt(size_t index, int64_t bad_rows) {
    file_ = Open(index, bad_rows);
    index_ = index;
  }

  // Fills ends_; false if a format does not say how many rows there are.
  bool CountRows() const {
    for (size_t i = ends_.size(); i < paths_.size(); ++i) {
      const auto count = i == index_ ? file_->num_rows() : Open(i, 0)->num_rows();
      if (!count) return false;
      ends_.push_back((i == 0 ? 0 : ends_.back()) + *count);
    }
    return true;
  }

  // Parts are read in any order: the files that were used last stay open.
  RowReader& FileOfPart(size_t index) const {
    const auto found = std::ranges::find(open_files_, index, &OpenedFile::index);
    if (found != open_files_.end()) {
      std::rotate(open_files_.begin(), found, found + 1);
    } else {
      auto reader = Open(index, 0);
      if (open_files_.size() == kMaxOpenFiles) open_files_.pop_back();
      open_files_.insert(open_files_.begin(), {.index = index, .reader = std::move(reader)});
    }
    return *open_files_.front().reader;
  }

  // Fills part_ends_; one file that has no parts is enough for all to have none.
  void CountParts() const {
    if (!part_ends_.empty()) return;
    std::vector<int64_t> ends;
    for (size_t i = 0; i < paths_.size(); ++i) {
      const RowReader& file = FileOfPart(i);
      const int64_t parts = file.num_parts();
      if (parts == 0 && file.num_rows() != 0) {
        part_ends_ = {0};
        return;
      }
      ends.push_back((i == 0 ? 0 : ends.back()) + parts);
    }
    part_ends_ = std::move(ends);
  }

  const std::vector<std::string> paths_;
  const OpenFile open_;
  Schema schema_;
  size_t index_ = 0;
  std::unique_ptr<RowReader> file_;  // of paths_[index_]
  // Rows, and parts, up to the end of each file; filled when asked for.
  mutable std::vector<int64_t> ends_;
  mutable std::vector<int64_t> part_ends_;
  // Of parts, the one that was used last first.
  struct OpenedFile {
    size_t index = 0;
    std::unique_ptr<RowReader> reader;
  };
  static constexpr size_t kMaxOpenFiles = 64;
  mutable std::vector<OpenedFile> open_files_;
  RowReader* part_file_ = nullptr;  // of the part that was read last, unless a Read came after it
};

}  // namespace

std::unique_ptr<RowReader> MakeFileListReader(std::vector<std::string> paths, OpenFile open) {
  CATAMARAN_CHECK(!paths.empty());
  return std::make_unique<FileListReader>(std::move(paths), std::move(open));
}

}  // namespace catamaran
