// bench/worker.h
//
// Our side of a benchmark: a program that answers the lines of bench/harness/worker.py. A case is
// prepared once, then run as often as the harness asks, between the runs of the peers.

#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace catamaran::bench {

struct Measurement {
  double seconds = 0;  // for one unit of work
  std::vector<std::pair<std::string, double>> parts;
};

class Case {
 public:
  virtual ~Case() = default;
  virtual Measurement Run() = 0;
  // Results that all sides must agree on.
  virtual std::vector<double> Check() { return {}; }
  // What a reader of the figures should know of how it was prepared, such as the pages.
  virtual std::string Note() { return ""; }
};

// Thrown while preparing: this side takes no part here, and why (a peer that is not installed, a
// machine that is too small).
class SkipCase : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using PrepareFn = std::function<std::unique_ptr<Case>(const std::string& name)>;

// A line that is shown to the user at once, while a case runs.
void Say(const std::string& text);

// Answers until the input ends; returns what main returns. An exception becomes an error line.
int Serve(const std::string& version, const PrepareFn& prepare);

// The value after `name` among the arguments, or `fallback`.
std::string Option(int argc, char** argv, const std::string& name, const std::string& fallback);
bool Flag(int argc, char** argv, const std::string& name);

double Now();  // seconds

// Seconds for one call, from `repeats` in a row.
template <class Work>
double Timed(int repeats, Work work) {
  const double begin = Now();
  for (int i = 0; i < repeats; ++i) work();
  return (Now() - begin) / repeats;
}

}  // namespace catamaran::bench
