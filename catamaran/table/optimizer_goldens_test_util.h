// table/optimizer_goldens_test_util.h
//
// Reads testdata/optimizer_goldens.txt (made by tools/make_optimizer_goldens): ten steps of every
// optimizer on three parameters, as PyTorch and NumPy computed them. Not part of the library.

#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace catamaran {

struct GoldenParam {
  std::vector<int64_t> shape;
  std::vector<double> start;
  std::vector<std::vector<double>> gradients;  // of each step
};

struct GoldenCase {
  std::string name, rule;
  std::vector<std::pair<std::string, double>> settings;  // lr first
  std::vector<std::vector<double>> ends;                 // by parameter
};

struct GoldenSchedule {
  std::string call;  // as in a program
  std::vector<double> rates;
};

struct OptimizerGoldens {
  std::vector<GoldenParam> params;
  std::vector<GoldenCase> cases;
  std::vector<GoldenSchedule> schedules;
};

inline OptimizerGoldens ReadOptimizerGoldens() {
  const std::string path = "catamaran/table/testdata/optimizer_goldens.txt";
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read; run tests in the source root");
  OptimizerGoldens goldens;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string tag;
    words >> tag;
    const auto numbers = [&words] {
      std::vector<double> values;
      for (double x; words >> x;) values.push_back(x);
      return values;
    };
    if (tag == "param") {
      goldens.params.emplace_back();
      for (int64_t n; words >> n;) goldens.params.back().shape.push_back(n);
    } else if (tag == "w") {
      goldens.params.back().start = numbers();
    } else if (tag == "g") {
      goldens.params.back().gradients.push_back(numbers());
    } else if (tag == "case") {
      GoldenCase& made = goldens.cases.emplace_back();
      words >> made.name >> made.rule;
      for (std::string setting; words >> setting;) {
        const size_t at = setting.find('=');
        made.settings.emplace_back(setting.substr(0, at), std::stod(setting.substr(at + 1)));
      }
    } else if (tag == "schedule") {
      goldens.schedules.emplace_back();
      words >> tag >> std::ws;
      std::getline(words, goldens.schedules.back().call);
    } else if (tag == "r") {
      goldens.schedules.back().rates = numbers();
    } else if (tag == "e") {
      goldens.cases.back().ends.push_back(numbers());
    }
  }
  return goldens;
}

}  // namespace catamaran
