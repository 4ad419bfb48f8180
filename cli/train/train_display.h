// cli/train/train_display.h
//
// What a person sees of a training run: what is trained on what, how far it is (one line that is
// overwritten on a terminal; elsewhere a line now and then), validations, and how it ended.
//
// Thread safety: one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "catamaran/train/trainer.h"
#include "cli/terminal.h"

namespace catamaran::cli {

class TrainDisplay {
 public:
  // Sets the trainer's hooks, which outlive neither. `total_epochs` 0: without end.
  TrainDisplay(Trainer& trainer, Style style, int64_t total_epochs, bool quiet);

  void ShowStart();
  void ShowEnd(const TrainSummary& summary);
  // Takes the line away, so that something else can be written.
  void ClearLine();

 private:
  using Clock = std::chrono::steady_clock;
  void ShowStep(const TrainStep& step);
  void ShowValidating(int64_t rows);
  void ShowValidation(const Validation& validation);
  void ShowWindow(const OnlineWindow& window);
  std::string ProgressText();
  // From 0 to 1; negative where it is not known.
  double Part() const;
  void Line(const std::string& text);

  Trainer& trainer_;
  const Style style_;
  const int64_t epochs_;
  const bool quiet_;
  const bool live_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), next_ = start_, rate_at_ = start_;
  int64_t rate_rows_ = 0;
  double rate_ = 0;  // rows a second, lately
  double start_part_ = 0;
};

}  // namespace catamaran::cli
