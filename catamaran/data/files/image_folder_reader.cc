#include "catamaran/data/files/image_folder_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/data/files/image.h"
#include "catamaran/data/part_rows.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {

namespace {

constexpr std::string_view kKind = "images";
constexpr size_t kMaxFileBytes = size_t{256} << 20;

struct ImageFile {
  std::string name;  // below the root
  int64_t label = 0;
};

bool IsImageName(std::string_view name) {
  return !name.starts_with('.') && !name.ends_with(".gz") &&
         HasEnding(name, {".png", ".jpg", ".jpeg"});
}

std::vector<ImageFile> FindImages(const FileSystem& fs, const std::string& root) {
  if (!fs.IsDirectory(root)) Fail("{}: is no folder; images are read from one", root);
  std::vector<ImageFile> files;
  int64_t label = 0;
  for (const std::string& name : fs.List(root)) {
    const std::string folder = JoinPath(root, name);
    if (name.starts_with('.') || !fs.IsDirectory(folder)) continue;
    for (const std::string& file : fs.List(folder)) {
      if (IsImageName(file)) files.push_back({.name = name + "/" + file, .label = label});
    }
    ++label;
  }
  if (files.empty())
    Fail(ErrorCode::kBadData, "{}: holds no images: wanted a folder a class, with PNGs or JPEGs",
         root);
  return files;
}

class ImageFolderReader final : public RowReader {
 public:
  ImageFolderReader(const FileSystem& fs, const std::string& root, const ReaderOptions& options)
      : fs_(fs),
        root_(root),
        files_(FindImages(fs, root)),
        random_access_(options.bad_rows.limit == 0),
        bad_rows_before_(options.bad_rows.skipped_before),
        bad_rows_(options.bad_rows) {
    const int channels = options.files.image_channels;
    if (channels != 0 && channels != 1 && channels != 3) {
      Fail("{}: images of {} channels cannot be had; wanted 1 or 3", root, channels);
    }
    size_ = FirstSize();
    if (channels != 0) size_.channels = channels;
    const Schema all(
        {Column::Dense("image", DType::kU8, {size_.height, size_.width, size_.channels}),
         Column::Dense("label", DType::kI64), Column::String("file")});
    if (options.schema && !(*options.schema == all)) {
      Fail("{}: {}", root, Difference(*options.schema, all));
    }
    schema_ = ChooseColumns(all, options, root);
    image_ = schema_.Find("image");
    label_ = schema_.Find("label");
    file_ = schema_.Find("file");
  }

  const Schema& schema() const override { return schema_; }

  bool Read(int64_t max_rows, RowBlock& block) override {
    CATAMARAN_CHECK(max_rows > 0);
    ReadUntil(files_.size(), max_rows, block);
    return block.rows() > 0;
  }

  Position position() const override {
    PositionWriter out(kKind);
    out.Put(static_cast<int64_t>(next_));
    out.Put(static_cast<int64_t>(files_.size()));
    out.Put(next_ < files_.size() ? files_[next_].name : "");
    out.Put(bad_rows_.count());
    return out.Take();
  }

  void Seek(const Position& position) override {
    if (position.bytes.empty()) {
      next_ = 0;
      bad_rows_.set_count(bad_rows_before_);
      return;
    }
    PositionReader in(position, kKind, root_);
    const auto next = static_cast<uint64_t>(in.GetInt());
    const auto count = static_cast<uint64_t>(in.GetInt());
    const std::string name(in.GetString());
    const int64_t bad_rows = in.GetInt();
    in.End();
    if (count != files_.size() || next > files_.size() ||
        name != (next < files_.size() ? files_[next].name : "")) {
      Fail("{}: the position is before '{}', image {} of {}; the folder holds other images now",
           root_, name, next + 1, count);
    }
    next_ = next;
    bad_rows_.set_count(bad_rows);
  }

  // Where bad ones may be skipped, nobody knows before.
  std::optional<int64_t> num_rows() const override {
    if (!random_access_) return std::nullopt;
    return static_cast<int64_t>(files_.size());
  }

  void SeekRow(int64_t row) override {
    if (!random_access_) {
      Fail("{}: row {} cannot be sought where bad images may be skipped", root_, row);
    }
    if (row < 0 || row > static_cast<int64_t>(files_.size())) {
      Fail("{}: there is no row {}; it has {}", root_, row, files_.size());
    }
    next_ = static_cast<size_t>(row);
  }

  int64_t bad_rows() const override { return bad_rows_.count(); }

  // A part is some files, the bad ones among them.
  int64_t num_parts() const override {
    return static_cast<int64_t>((files_.size() + part_files() - 1) / part_files());
  }

  void ReadPart(int64_t part, RowBlock& block) override {
    next_ = static_cast<size_t>(part) * part_files();
    const size_t end = std::min(next_ + part_files(), files_.size());
    ReadUntil(end, static_cast<int64_t>(part_files()), block);
  }

  RowPlaces places() const override { return {.file = root_, .names = given_}; }

 private:
  size_t part_files() const { return static_cast<size_t>(PartRows(schema_)); }

  // Rows of the files before file `end`, but not more than `max_rows`.
  void ReadUntil(size_t end, int64_t max_rows, RowBlock& block) {
    block.Begin(schema_);
    given_.clear();
    while (block.rows() < max_rows && next_ < end) {
      const ImageFile& file = files_[next_];
      // A file that cannot be read is an Error of its own, not a bad row.
      const std::string contents = image_ >= 0 ? Contents(file) : "";
      ++next_;
      try {
        AppendRow(file, contents, block);
      } catch (const Error& error) {
        block.DropRow();
        const std::string problem = fmt::format("{}: {}", JoinPath(root_, file.name), error.what());
        if (error.code() != ErrorCode::kBadData) throw Error(problem, error.code());
        bad_rows_.Add(problem);
        continue;
      }
      block.FinishRow();
      given_.push_back(file.name);
    }
  }

  std::string Contents(const ImageFile& file) const {
    return fs_.ReadAll(JoinPath(root_, file.name), kMaxFileBytes);
  }

  // Of the first image that says one; Read reports those before it.
  ImageSize FirstSize() const {
    std::string problem;
    for (const ImageFile& file : files_) {
      try {
        return ReadImageSize(Contents(file));
      } catch (const Error& error) {
        if (problem.empty())
          problem = fmt::format("{}: {}", JoinPath(root_, file.name), error.what());
        if (random_access_) break;
      }
    }
    Fail(ErrorCode::kBadData, "{}", problem);
  }

  void AppendRow(const ImageFile& file, const std::string& contents, RowBlock& block) {
    if (image_ >= 0) DecodeImage(contents, size_.channels, &size_, block[image_].bytes);
    if (label_ >= 0) block[label_].ints.push_back(file.label);
    if (file_ >= 0) {
      block[file_].bytes.Append(
          {reinterpret_cast<const uint8_t*>(file.name.data()), file.name.size()});
      block[file_].EndList();
    }
  }

  const FileSystem& fs_;
  const std::string root_;
  const std::vector<ImageFile> files_;
  const bool random_access_;
  const int64_t bad_rows_before_;
  BadRows bad_rows_;
  Schema schema_;
  ImageSize size_;
  int image_ = -1, label_ = -1, file_ = -1;  // columns; -1: not wanted
  size_t next_ = 0;
  std::vector<std::string> given_;  // files of the rows that were read last
};

}  // namespace

std::unique_ptr<RowReader> OpenImageFolder(const FileSystem& fs, const std::string& path,
                                           const ReaderOptions& options) {
  return std::make_unique<ImageFolderReader>(fs, path, options);
}

DataFormat ImageFolderFormat() {
  return {.name = "images",
          .matches = [](std::string_view, std::string_view) { return false; },
          .open = OpenImageFolder};
}

}  // namespace catamaran
