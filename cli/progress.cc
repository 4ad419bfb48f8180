// cli/progress.cc

#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/terminal.h"

namespace catamaran::cli {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBar = 30;

}  // namespace

Progress::Progress(std::string doing)
    : doing_(std::move(doing)), live_(IsTerminal(stderr)), next_(start_ + kPatience) {}

Progress::~Progress() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

void Progress::Show(double part) {
  if (!live_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  shown_ = true;
  part = std::clamp(part, 0.0, 1.0);
  const int full = static_cast<int>(part * kBar);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string left =
      part > 0.01 ? fmt::format("{:.0f} s left", seconds / part * (1 - part)) : "";
  fmt::print(stderr, "\r{}  [{:=<{}}{:{}}] {:3.0f} %  {}\x1b[K", doing_, "", full, "", kBar - full,
             100 * part, left);
  std::fflush(stderr);
}

}  // namespace catamaran::cli
