// cli/session.cc

#include "cli/session.h"

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

namespace catamaran::cli {

void CheckReadable(const FileSystem& fs, const std::string& path) {
  Outside([&] { return fs.OpenRead(path); });
}

ProgramFile LoadProgram(Session& session, const std::string& path) {
  CheckReadable(session.fs, path);
  std::shared_ptr<const OpSet> ops = StandardOps();
  std::shared_ptr<const BuilderSet> builders = StandardBuilders();
  Program written = ParseFile(session.fs, path, ops, *builders);
  Program flat = Flatten(written, *builders);
  return {std::move(ops), std::move(builders), std::move(written), std::move(flat)};
}

std::pair<std::string, std::string> SplitAssignment(const std::string& text,
                                                    const std::string& option) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    throw CommandError(kUsage, fmt::format("{} {}: wanted NAME=VALUE", option, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace catamaran::cli
