#include "catamaran/table/memory/step_sources.h"

namespace catamaran {

void StepSources::Reset(const TableStep& step, const RowRules& rules) {
  sources_.clear();
  width_ = rules.config().width;
  size_ = 0;
  for (const TableObservation& o : step.observations) {
    Source source;
    source.keys.keys = o.keys;
    source.keys.key_type = o.key_type;
    source.keys.num_keys = o.num_keys;
    source.keys.salt = o.salt;
    source.keys.feature = rules.FeatureOf(o.feature, o.salt);
    source.observation = &o;
    source.begin = size_;
    source.count = o.num_keys;
    size_ += source.count;
    sources_.push_back(source);
  }
  num_observed_ = size_;
  for (const TablePush& push : step.pushes) {
    for (const RowsSegment& segment : push.rows->segments) {
      Source source;
      source.keys = segment;
      source.keys.feature = rules.FeatureOf(segment.feature, segment.salt);
      source.push = &push;
      source.begin = size_;
      source.count = segment.num_keys;
      if (segment.pool != Pool::kNone) {
        // What is in no bag occurs nowhere.
        source.first_key = segment.offsets != nullptr ? segment.offsets[0] : 0;
        const int64_t end = segment.offsets != nullptr ? segment.offsets[segment.num_bags]
                                                       : segment.num_bags * segment.stride;
        source.count = end - source.first_key;
      }
      size_ += source.count;
      sources_.push_back(source);
    }
  }
}

}  // namespace catamaran
