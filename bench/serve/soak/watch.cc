#include "bench/serve/soak/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/worker.h"

namespace catamaran::bench {
namespace {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double CountEntries(const std::string& directory) {
  std::error_code ignored;
  const std::filesystem::directory_iterator entries(directory, ignored);
  return static_cast<double>(std::distance(begin(entries), end(entries)));
}

}  // namespace

ProcessSample SampleProcess(pid_t pid) {
  ProcessSample sample;
  const std::string directory = fmt::format("/proc/{}", pid);
  std::ifstream in(directory + "/statm");
  double size = 0, resident = 0;
  if (!(in >> size >> resident)) return sample;
  sample.pid = pid;
  sample.at = Now();
  sample.memory_bytes = resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
  sample.descriptors = CountEntries(directory + "/fd");
  sample.threads = CountEntries(directory + "/task");
  return sample;
}

ProcessWatch::ProcessWatch(std::function<pid_t()> pid)
    : pid_(std::move(pid)), thread_([this] {
        while (!stop_) {
          const pid_t process = pid_();
          const ProcessSample sample = process > 0 ? SampleProcess(process) : ProcessSample{};
          // A process that has ended meanwhile has no memory, or no descriptors.
          if (sample.memory_bytes > 0 && sample.descriptors > 0 && pid_() == process) {
            const std::lock_guard lock(mutex_);
            samples_.push_back(sample);
          }
          for (int i = 0; i < 10 && !stop_; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }
      }) {}

ProcessWatch::~ProcessWatch() {
  stop_ = true;
  thread_.join();
}

ProcessSample ProcessWatch::Newest() const {
  const std::lock_guard lock(mutex_);
  return samples_.empty() ? ProcessSample{} : samples_.back();
}

std::vector<ProcessSample> ProcessWatch::LastLife(double warm) const {
  const std::lock_guard lock(mutex_);
  size_t begin = samples_.size();
  while (begin > 0 && samples_[begin - 1].pid == samples_.back().pid) --begin;
  const size_t life = begin;
  while (begin < samples_.size() && samples_[begin].at < samples_[life].at + warm) ++begin;
  return {samples_.begin() + static_cast<std::ptrdiff_t>(begin), samples_.end()};
}

ProcessGrowth ProcessWatch::Growth(double ProcessSample::*what, double warm) const {
  const std::vector<ProcessSample> life = LastLife(warm);
  const size_t quarter = std::min(life.size(), life.size() / 4 + 1);
  std::vector<double> first, last;
  for (size_t i = 0; i < quarter; ++i) {
    first.push_back(life[i].*what);
    last.push_back(life[life.size() - 1 - i].*what);
  }
  return {Median(first), Median(last)};
}

double ProcessWatch::Seconds(double warm) const {
  const std::vector<ProcessSample> life = LastLife(warm);
  return life.empty() ? 0 : life.back().at - life.front().at;
}

}  // namespace catamaran::bench
