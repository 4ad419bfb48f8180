// commit/commit_manifest.h
//
// The file `commit-C` of a state directory: what commit C consists of. It is written last and
// renamed into place, so that its being there is what makes the commit one.
//
//   catamaran state 2
//   commit 7
//   step 1200
//   time 1700000000000000000
//   info "build" "0.1.0"
//   position "clicks/0" "88123"
//   reader "replica" 5
//   part "dense"
//   file dense-7.safetensors 15360 1a2b3c4d 0 7
//   part "table feat"
//   file table-feat-0-5.rows 91200 99887766 0 5
//   file table-feat-5-7.rows 912 0badcafe 5 7
//   check 0badf00d
//
// Checksums are CRC-32C in hexadecimal; the last line's is that of all lines before it. Strings
// stand between quotes, with \\, \" and \xHH for what is not printable. docs/formats/state.md says
// what each line means.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/positions.h"
#include "catamaran/commit/participant.h"

namespace catamaran {

inline constexpr int kCommitFormatVersion = 2;

struct CommitManifest {
  uint64_t commit = 0;
  int64_t step = 0;
  int64_t event_time = 0;
  std::map<std::string, std::string> info;  // build, instruction set, threads, …
  Positions positions;                      // of the sources that the state has learned from
  std::map<std::string, uint64_t> readers;  // of increments: the commit that each one has
  std::vector<CommitPart> parts;

  // Null if there is none of that name.
  const CommitPart* Find(std::string_view part) const;
  friend bool operator==(const CommitManifest&, const CommitManifest&) = default;
};

// "commit-7", and back: 0 for any other name.
std::string CommitManifestName(uint64_t commit);
uint64_t CommitOfManifestName(std::string_view name);

std::string FormatCommitManifest(const CommitManifest& manifest);

// Anything but the exact form, or a checksum that does not fit, is an Error that begins with
// `path`.
CommitManifest ParseCommitManifest(std::string_view text, const std::string& path);

}  // namespace catamaran
