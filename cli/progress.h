// cli/progress.h
//
// How far a long command is: one line on stderr that is overwritten, if that is a terminal and the
// work takes more than half a second; nothing elsewhere.

#pragma once

#include <chrono>
#include <string>

namespace catamaran::cli {

class Progress {
 public:
  // "Exporting @feat"
  explicit Progress(std::string doing);
  // Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `part` of the work is done, from 0 to 1. May be called as often as one likes.
  void Show(double part);

 private:
  using Clock = std::chrono::steady_clock;
  const std::string doing_;
  const bool live_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  bool shown_ = false;
};

}  // namespace catamaran::cli
