// cli/table/commands.h
//
// The commands under `catamaran table`, one file each, and the options that several have.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace catamaran::cli {

void AddTableInfo(CLI::App& table, Session& session);
void AddTableGet(CLI::App& table, Session& session);
void AddTableExport(CLI::App& table, Session& session);
void AddTableImport(CLI::App& table, Session& session);
void AddTableVerify(CLI::App& table, Session& session);
void AddTableDiff(CLI::App& table, Session& session);

// The feature of that name among those of a table: its place from 1. An Error with a suggestion if
// there is none.
int FeatureNamed(const std::vector<std::string>& features, const std::string& name,
                 const std::string& where);

// A key: "17" or "0x11". An Error that begins with `where` if it is none.
uint64_t ParseKey(std::string_view text, const std::string& where);

}  // namespace catamaran::cli
