#include "cli/demo/comparison.h"

#include <algorithm>

#include "catamaran/commit/state_file.h"
#include "catamaran/exec/compile.h"
#include "catamaran/train/metrics.h"

namespace catamaran::cli {
namespace {

constexpr int64_t kBatch = 64;  // as the service learns

std::vector<float> From(const std::vector<float>& values, size_t first) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first), values.end()};
}

// Rows [begin, end) as columns.
struct Columns {
  template <class Rows>
  Columns(const Rows& rows, size_t begin, size_t end) {
    std::vector<uint64_t> users, groups, topics, stories;
    std::vector<float> clicks;
    for (size_t i = begin; i < end; ++i) {
      users.push_back(rows[i].user);
      groups.push_back(rows[i].group);
      topics.push_back(rows[i].topic);
      stories.push_back(rows[i].story);
      clicks.push_back(rows[i].label);
    }
    user = Tensor::FromVector(users);
    group = Tensor::FromVector(groups);
    topic = Tensor::FromVector(topics);
    story = Tensor::FromVector(stories);
    click = Tensor::FromVector(clicks);
  }
  Tensor user, group, topic, story, click;
};

}  // namespace

Comparison::Comparison(const Program& flat, uint64_t seed, double window)
    : flat_(flat),
      seed_(seed),
      window_(window),
      train_(Compile(flat, "train")),
      infer_(Compile(flat, "infer")) {}

void Comparison::Train(State& state, const std::vector<Example>& rows) {
  for (size_t begin = 0; begin < rows.size(); begin += kBatch) {
    const Columns batch(rows, begin, std::min(rows.size(), begin + kBatch));
    const FeedValue feeds[] = {batch.user, batch.group, batch.topic, batch.story, batch.click};
    train_->Run(state, feeds);
  }
}

void Comparison::Predict(State& state, const std::vector<Example>& rows,
                         std::vector<float>& predictions) {
  if (rows.empty()) return;
  const Columns batch(rows, 0, rows.size());
  const FeedValue feeds[] = {batch.user, batch.group, batch.topic, batch.story};
  const Tensor result = infer_->Run(state, feeds).outputs[0];
  const auto values = result.data<float>();
  predictions.insert(predictions.end(), values.begin(), values.end());
}

void Comparison::MakeFirstModel(FileSystem& fs, const Simulator& world, int64_t views,
                                const std::string& directory) {
  std::vector<Example> rows;
  for (int64_t number = -views; number < 0; ++number) {
    const PageView view = world.View(number);
    for (const Shown& shown : view.shown) {
      rows.push_back(
          {view.user, view.group, shown.topic, shown.story, shown.clicked ? 1.0f : 0.0f});
    }
  }
  {
    const auto state = State::Create(flat_, seed_);
    Train(*state, rows);
    SaveState(fs, directory, flat_, *state);
  }
  frozen_ = LoadState(fs, directory, flat_).state;
  retrained_ = LoadState(fs, directory, flat_).state;
}

Ranking Comparison::RankingOf(size_t from) const {
  const std::vector<float> labels = From(labels_, from);
  return {ExactAuc(From(learning_scores_, from), labels, {}),
          ExactAuc(From(frozen_scores_, from), labels, {}),
          ExactAuc(From(retrained_scores_, from), labels, {}),
          ExactAuc(From(truth_, from), labels, {})};
}

Ranking Comparison::Add(const std::vector<AnsweredView>& views, double time) {
  const size_t before = labels_.size();
  std::vector<Example> rows;
  for (const auto& [view, probabilities] : views) {
    for (size_t i = 0; i < view.shown.size(); ++i) {
      const Shown& shown = view.shown[i];
      rows.push_back({view.user, view.group, shown.topic, shown.story, 0});
      open_.push_back({rows.back(), view.time + window_, shown.click_time, shown.clicked});
      labels_.push_back(shown.clicked ? 1.0f : 0.0f);
      learning_scores_.push_back(probabilities[i]);
      truth_.push_back(static_cast<float>(shown.probability));
    }
  }
  Predict(*frozen_, rows, frozen_scores_);
  Predict(*retrained_, rows, retrained_scores_);

  std::vector<Example> known;
  std::erase_if(open_, [&](Open& open) {
    if (open.clicked && open.click_time <= time) {
      open.example.label = 1;
      known.push_back(open.example);
      return true;
    }
    if (!open.closed && open.closes <= time) {
      open.closed = true;
      known.push_back(open.example);
    }
    return open.closed && !open.clicked;
  });
  Train(*retrained_, known);
  return RankingOf(before);
}

}  // namespace catamaran::cli
