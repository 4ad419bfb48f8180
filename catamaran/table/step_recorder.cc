#include "catamaran/table/step_recorder.h"

namespace catamaran {

void StepRecorder::Apply(const TableStep& part) {
  observations_.insert(observations_.end(), part.observations.begin(), part.observations.end());
  pushes_.insert(pushes_.end(), part.pushes.begin(), part.pushes.end());
}

void StepRecorder::Commit(int64_t step, int64_t event_time, ThreadPool* pool) {
  if (observations_.empty() && pushes_.empty()) return;
  table_->Apply({step, event_time, observations_, pushes_, pool});
  Discard();
}

void StepRecorder::Discard() {
  observations_.clear();
  pushes_.clear();
}

}  // namespace catamaran
