#include "catamaran/base/file.h"

#include "catamaran/base/error.h"

namespace catamaran {

void RandomReadFile::ReadExactly(uint64_t offset, std::span<std::byte> out) const {
  size_t filled = 0;
  while (filled < out.size()) {
    const size_t count = Read(offset + filled, out.subspan(filled));
    if (count == 0) {
      Fail(ErrorCode::kStorage, "cannot read {} bytes at offset {} of {}: the file ends at byte {}",
           out.size(), offset, path(), size());
    }
    filled += count;
  }
}

std::string FileSystem::ReadAll(const std::string& path, size_t max_bytes) const {
  const auto file = OpenRead(path);
  // The size is a hint: that of some files (those the kernel makes up) is not known beforehand.
  if (file->size() > max_bytes) {
    Fail("cannot read {}: it has {} bytes, more than the {} allowed", path, file->size(),
         max_bytes);
  }
  std::string contents;
  size_t filled = 0;
  while (true) {
    if (filled == contents.size()) {
      contents.resize(filled == 0 ? static_cast<size_t>(file->size()) + 1 : filled * 2);
    }
    const std::span<char> rest = std::span(contents).subspan(filled);
    const size_t count = file->Read(filled, std::as_writable_bytes(rest));
    filled += count;
    if (filled > max_bytes) {
      Fail("cannot read {}: it has more than the {} bytes allowed", path, max_bytes);
    }
    if (count == 0) break;
  }
  contents.resize(filled);
  return contents;
}

void FileSystem::MakeDirectories(const std::string& path) {
  const std::string parent = ParentDirectory(path);
  if (IsDirectory(path)) {
    // Who made it may have died before it synced the name. (Those above it were synced first.)
    try {
      SyncDirectory(parent);
    } catch (const Error&) {
      // A directory that others made may lie where this user cannot look.
    }
    return;
  }
  if (parent != path) MakeDirectories(parent);
  MakeDirectory(path);
  SyncDirectory(parent);
}

void WriteFileAtomically(FileSystem& fs, const std::string& path,
                         std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp";
  try {
    const auto file = fs.OpenWrite(temporary);
    file->Append(bytes);
    file->Sync();
    file->Close();
    fs.Rename(temporary, path);
  } catch (const Error&) {
    try {
      fs.Remove(temporary);
    } catch (const Error&) {
      // It was never made, or the disk is gone; the first error is the one to tell.
    }
    throw;
  }
  fs.SyncDirectory(ParentDirectory(path));
}

void WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view contents) {
  WriteFileAtomically(fs, path, std::as_bytes(std::span(contents.data(), contents.size())));
}

void RemoveTree(FileSystem& fs, const std::string& path) {
  if (!fs.Exists(path)) return;
  if (fs.IsDirectory(path)) {
    for (const std::string& name : fs.List(path)) RemoveTree(fs, JoinPath(path, name));
  }
  fs.Remove(path);
}

std::string ParentDirectory(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  path = path.substr(0, slash);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path.empty() ? "/" : std::string(path);
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

}  // namespace catamaran
