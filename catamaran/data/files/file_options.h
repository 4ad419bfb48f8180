// data/files/file_options.h
//
// How files that are no text are read, beyond what every reader has.

#pragma once

namespace catamaran {

struct FileOptions {
  // Image folders: 1 for grey, 3 for colour; 0: as the first image has.
  int image_channels = 0;
};

}  // namespace catamaran
