#include "catamaran/data/features/json_rows.h"

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

Schema InputsOf(const Features& features) {
  const auto inputs = features.declared_inputs();
  if (!inputs) {
    Fail(
        "{}: it does not say what its columns are: add a line `input name: kind, …`, or fit it to "
        "data",
        features.syntax().source->path);
  }
  return *inputs;
}

// Columns that only other outputs need are known.
JsonRowRules RulesOf(const Features& features) {
  JsonRowRules rules{.need_columns = true, .refuse_unknown = true};
  for (const Column& column : InputsOf(features)) rules.known.push_back(column.name);
  rules.defaults = features.syntax().defaults;
  return rules;
}

}  // namespace

JsonRows::JsonRows(const Features& features, const std::vector<std::string>& outputs)
    : transform_(features.Bind(InputsOf(features), outputs)),
      columns_(InputsOf(features).Select(transform_->inputs(), features.syntax().source->path)),
      row_(columns_, features.ReaderSettings({}).text.missing_integer, RulesOf(features)) {}

void JsonRows::Parse(std::string_view json, RowBlock& rows) {
  rows.Begin(columns_);
  if (!document_.Parse(json)) {
    Fail(ErrorCode::kBadData, "the rows are no JSON: byte {}: {}", document_.error_offset() + 1,
         document_.error());
  }
  const auto& nodes = document_.nodes();
  const bool array = nodes[0].kind == JsonKind::kArray;
  for (size_t i = array ? 1 : 0; i < nodes[0].end; i = nodes[i].end) {
    const std::string problem = row_.Append(document_, i, rows);
    if (!problem.empty()) Fail(ErrorCode::kBadData, "row {}: {}", rows.rows(), problem);
    rows.FinishRow();
  }
}

void JsonRows::Transform(std::string_view json, RowBlock& out) {
  Parse(json, raw_);
  transform_->Apply(raw_, out);
}

}  // namespace catamaran
