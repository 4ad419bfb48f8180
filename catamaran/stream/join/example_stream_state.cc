// What a commit keeps of an example stream, and back.

#include <array>

#include "catamaran/stream/join/example_stream.h"
#include "catamaran/stream/record_proto.h"

namespace catamaran {
namespace {

template <class Counts>
auto CountsOf(Counts& c) {
  return std::array{&c.steps,   &c.examples,      &c.received_rows, &c.duplicate_keys,
                    &c.dropped, &c.refused_steps, &c.skipped_steps, &c.skipped_examples};
}

}  // namespace

std::string ExampleStream::Save() const {
  proto::ExampleStreamState state;
  state.set_offset(position_);
  join_.Save(*state.mutable_join());
  keys_.Save(*state.mutable_keys());
  for (const JoinedExample& example : waiting_) {
    proto::JoinedExample& saved = *state.add_waiting();
    saved.set_features(example.features);
    saved.set_row(example.row);
    saved.mutable_labels()->Add(example.labels.begin(), example.labels.end());
    saved.set_weight(example.weight);
    saved.set_cause(example.cause);
    saved.set_time_ns(example.time_ns);
  }
  for (const auto& [id, schema] : schemas_) {
    if (&schema != newest_schema_) ToProto(schema, *state.add_schemas());
  }
  if (newest_schema_ != nullptr) ToProto(*newest_schema_, *state.add_schemas());
  state.set_paused(paused_);
  for (const int64_t step : unrecorded_refusals_) state.add_unrecorded_refusals(step);
  for (const int64_t* count : CountsOf(counts_)) state.add_counts(*count);
  return Serialize(state);
}

void ExampleStream::Load(std::string_view bytes) {
  constexpr std::string_view kWhat = "the state of the examples";
  const auto state =
      ParseMessage<proto::ExampleStreamState>(std::as_bytes(std::span(bytes)), kWhat);
  const auto counts = CountsOf(counts_);
  if (state.counts_size() != static_cast<int>(counts.size())) {
    Fail(ErrorCode::kStorage, "{}: damaged: {} counts; it has {}", kWhat, state.counts_size(),
         counts.size());
  }
  join_.Load(state.join());
  keys_.Load(state.keys());
  keys_.SetLimits(join_.settings().key_horizon_ns, join_.settings().max_keys);
  position_ = state.offset();
  waiting_.clear();
  for (const proto::JoinedExample& saved : state.waiting()) {
    waiting_.push_back({saved.features(),
                        saved.row(),
                        {saved.labels().begin(), saved.labels().end()},
                        saved.weight(),
                        saved.cause(),
                        saved.time_ns()});
  }
  schemas_.clear();
  newest_schema_ = nullptr;
  for (const proto::Schema& saved : state.schemas()) {
    SchemaRecord schema;
    FromProto(saved, schema);
    AddSchema(std::move(schema));
  }
  paused_ = state.paused();
  unrecorded_refusals_ = {state.unrecorded_refusals().begin(), state.unrecorded_refusals().end()};
  for (size_t i = 0; i < counts.size(); ++i) *counts[i] = state.counts(static_cast<int>(i));
}

}  // namespace catamaran
