#include "bench/table/own_process.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

namespace catamaran::bench {
namespace {

// "ok SECONDS NAME VALUE NAME VALUE …", or "error MESSAGE".
std::string Do(const std::function<Measurement()>& work) {
  try {
    const Measurement m = work();
    std::string text = fmt::format("ok {:.17g}", m.seconds);
    for (const auto& [name, value] : m.parts) text += fmt::format(" {} {:.17g}", name, value);
    return text;
  } catch (const std::exception& error) {
    return std::string("error ") + error.what();
  }
}

}  // namespace

Measurement InOwnProcess(const std::function<Measurement()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    const std::string text = Do(work);
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = write(ends[1], text.data() + sent, text.size() - sent);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);

  std::istringstream words(text);
  std::string verdict, name;
  words >> verdict;
  if (verdict != "ok") {
    throw std::runtime_error(text.empty() ? fmt::format("the process ended with status {}", status)
                                          : text);
  }
  Measurement m;
  words >> m.seconds;
  for (double value; words >> name >> value;) m.parts.emplace_back(name, value);
  return m;
}

}  // namespace catamaran::bench
