// ir/location.h
//
// Where an op came from. A Location is four numbers, cheap to copy and to keep on every op;
// the SourceTable that a program owns turns them into a file, a line of text and the chain of
// builders, calls and transforms that made the op. Transforms pass locations on, so that an
// error in a derived function still names the user's line.
//
// Thread safety: a SourceTable only grows; all its methods may be called concurrently.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace catamaran {

struct Location {
  uint32_t file = 0;    // index in the SourceTable; 0 means unknown
  uint32_t line = 0;    // from 1
  uint32_t column = 0;  // from 1; 0 when only the line is known (C++)
  uint32_t frame = 0;   // the innermost SourceFrame; 0 means none

  bool known() const { return file != 0; }
  friend bool operator==(const Location&, const Location&) = default;
};

// One step of the way from the user's text to an op: "in fc1 = linear(…), ctr.ctm:8".
struct SourceFrame {
  std::string what;  // "in linear fc1", "called by loss"
  Location at;       // where that happened; at.frame is the next frame outwards
};

class SourceTable {
 public:
  SourceTable();

  // Adds a file; `text` may be empty (a C++ caller). The same name and text give the same index.
  uint32_t AddFile(std::string_view name, std::string_view text = {});
  uint32_t AddFrame(std::string what, Location at);

  // The location of a C++ caller.
  Location FromCpp(const std::source_location& where);

  const std::string& file_name(uint32_t file) const;
  size_t num_files() const;
  size_t num_frames() const;
  const std::string& file_text(uint32_t file) const;
  // The text of one line without its end, or empty when the text is not known.
  std::string_view Line(uint32_t file, uint32_t line) const;
  SourceFrame frame(uint32_t index) const;

  // "models/ctr.ctm:14", or "<unknown>".
  std::string ToString(const Location& at) const;

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  mutable std::mutex mutex_;
  std::deque<File> files_;  // deque: references stay valid while it grows
  std::deque<SourceFrame> frames_;
  std::unordered_map<std::string, uint32_t> cpp_files_;
};

}  // namespace catamaran
