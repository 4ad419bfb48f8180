// cli/session.cc

#include "cli/session.h"

#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "catamaran/ops/load_library.h"

namespace catamaran::cli {

void CheckReadable(const FileSystem& fs, const std::string& path) {
  Outside([&] { return fs.OpenRead(path); });
}

Vocabulary MakeVocabulary(const Session& session) {
  Vocabulary words{StandardOps(), StandardBuilders()};
  for (const std::string& path : session.libraries) {
    Outside([&] { LoadOpLibrary(*words.ops, *words.builders, path); });
  }
  return words;
}

ProgramFile LoadProgram(Session& session, const std::string& path) {
  CheckReadable(session.fs, path);
  Vocabulary words = MakeVocabulary(session);
  Program written = ParseFile(session.fs, path, words.ops, *words.builders);
  Program flat = Flatten(written, *words.builders);
  return {std::move(words.ops), std::move(words.builders), std::move(written), std::move(flat)};
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
