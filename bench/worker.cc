#include "bench/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>

namespace catamaran::bench {
namespace {

void Answer(const std::string& json) {
  fmt::print("@ok {}\n", json);
  std::fflush(stdout);
}

std::string ToJson(const Measurement& m) {
  std::string parts;
  for (const auto& [name, value] : m.parts) {
    parts += fmt::format("{}\"{}\": {}", parts.empty() ? "" : ", ", name, value);
  }
  return fmt::format("{{\"seconds\": {}, \"parts\": {{{}}}}}", m.seconds, parts);
}

}  // namespace

void Say(const std::string& text) {
  fmt::print("@say {}\n", text);
  std::fflush(stdout);
}

int Serve(const std::string& version, const PrepareFn& prepare) {
  Answer(fmt::format("{{\"version\": \"{}\"}}", version));
  std::map<std::string, std::unique_ptr<Case>> cases;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, name;
    words >> command >> name;
    if (command == "quit") break;
    try {
      if (command == "prepare") {
        try {
          cases[name] = prepare(name);
          Answer(fmt::format("{{\"note\": \"{}\"}}", cases[name]->Note()));
        } catch (const SkipCase& skip) {
          Answer(fmt::format("{{\"skip\": \"{}\"}}", skip.what()));
        }
      } else if (command == "check") {
        Answer(fmt::format("{{\"values\": [{}]}}", fmt::join(cases.at(name)->Check(), ", ")));
      } else if (command == "run") {
        Answer(ToJson(cases.at(name)->Run()));
      } else if (command == "drop") {
        cases.erase(name);
        Answer("{}");
      } else {
        throw std::runtime_error("unknown command");
      }
    } catch (const std::exception& error) {
      std::string what = error.what();
      std::replace(what.begin(), what.end(), '\n', '|');
      fmt::print("@error {}\n", what);
      std::fflush(stdout);
    }
  }
  return 0;
}

std::string Option(int argc, char** argv, const std::string& name, const std::string& fallback) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return fallback;
}

bool Flag(int argc, char** argv, const std::string& name) {
  return std::any_of(argv + 1, argv + argc, [&](const char* arg) { return arg == name; });
}

double Now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace catamaran::bench
