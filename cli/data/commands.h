// cli/data/commands.h
//
// The commands under `catamaran data`, one file each, and what they share: which data is read, and
// how.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/data/reader.h"
#include "cli/session.h"

namespace catamaran::cli {

void AddDataConvert(CLI::App& data, Session& session);
void AddDataHead(CLI::App& data, Session& session);
void AddDataStats(CLI::App& data, Session& session);
void AddDataCheck(CLI::App& data, Session& session);
void AddDataBatches(CLI::App& data, Session& session);

struct DataInput {
  std::vector<std::string> paths;
  // As far as the command line says it plainly; what needs a look comes from MakeReaderOptions.
  ReaderOptions options;
  std::string schema_file, separator, list_separator, header;
};

// The options of all commands that read data, but for the paths and how many bad rows are skipped.
void AddInputOptions(CLI::App& command, DataInput& input);
void AddBadRowsOption(CLI::App& command, DataInput& input);

// What a reader is told; it says on stderr which rows it skips.
ReaderOptions MakeReaderOptions(const Session& session, const DataInput& input);

// The files that are read, wildcards replaced. An Error of the environment if there is none.
std::vector<std::string> InputFiles(const Session& session, const DataInput& input);

std::unique_ptr<RowReader> OpenInput(const Session& session, const DataInput& input);

// Calls `use` for blocks of rows to the end, and shows how far it is.
void ForEachBlock(RowReader& reader, const std::string& doing,
                  const std::function<void(const RowBlock&)>& use);

// "3 bad rows were skipped", or nothing where there was none; on stderr.
void ReportSkipped(const RowReader& reader);

}  // namespace catamaran::cli
