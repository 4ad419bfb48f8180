// A recommender that learns from a stream of ratings, as a service would: each batch is predicted
// first and then learned from, with the time at which it happened; every now and then all is
// committed while training goes on. What it kept can be looked at with `catamaran table`.
//
//   example_movies PROGRAM OUT [MOVIELENS]
//
// PROGRAM is examples/movies.ctm, OUT a directory for the state, and MOVIELENS the folder of the
// MovieLens 100k data (its file u.data). Without it ratings are made up.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include "catamaran/base/error.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"

using namespace catamaran;

namespace {

constexpr int64_t kBatch = 100;
constexpr int64_t kCommitEvery = 200;  // batches

struct Rating {
  uint64_t user = 0, movie = 0;
  float liked = 0;   // 1 or 0
  int64_t time = 0;  // seconds since 1970
};

// u.data: user, movie, stars and time on each line. Four stars and five are a like.
std::vector<Rating> ReadMovieLens(const std::string& folder) {
  std::ifstream file(folder + "/u.data");
  std::vector<Rating> ratings;
  Rating rating;
  for (int stars = 0; file >> rating.user >> rating.movie >> stars >> rating.time;) {
    rating.liked = stars >= 4 ? 1.0f : 0.0f;
    ratings.push_back(rating);
  }
  return ratings;
}

// People and movies have a taste each, two numbers, and like what is like them. Some movies are
// seen by many, most by few.
std::vector<Rating> MakeUpRatings() {
  constexpr int kUsers = 500, kMovies = 1000, kRatings = 60'000;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto tastes = [&](int n) {
    std::vector<std::array<double, 2>> all(static_cast<size_t>(n));
    for (auto& taste : all) taste = {normal(random), normal(random)};
    return all;
  };
  const auto users = tastes(kUsers), movies = tastes(kMovies);
  std::vector<Rating> ratings;
  for (int64_t i = 0; i < kRatings; ++i) {
    const auto user = static_cast<size_t>(uniform(random) * kUsers);
    const auto movie = static_cast<size_t>(std::pow(uniform(random), 3) * kMovies);
    const double match = users[user][0] * movies[movie][0] + users[user][1] * movies[movie][1];
    const bool liked = uniform(random) < 1 / (1 + std::exp(-2 * match));
    ratings.push_back({user + 1, movie + 1, liked ? 1.0f : 0.0f, 1'700'000'000 + i * 60});
  }
  return ratings;
}

// How often a rating that was a like has a higher prediction than one that was not.
double Auc(const std::vector<float>& predicted, const std::vector<float>& liked) {
  std::vector<size_t> order(predicted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  double pairs = 0, below = 0;
  for (const size_t i : order) {
    if (liked[i] > 0) {
      pairs += below;
    } else {
      ++below;
    }
  }
  const double likes = static_cast<double>(predicted.size()) - below;
  return pairs / std::max(1.0, likes * below);
}

struct Batch {
  Tensor user, movie, liked;
  int64_t time = 0;  // nanoseconds

  explicit Batch(std::span<const Rating> ratings)
      : user(Tensor::Allocate(DType::kU64, {static_cast<int64_t>(ratings.size())})),
        movie(Tensor::Allocate(DType::kU64, {static_cast<int64_t>(ratings.size())})),
        liked(Tensor::Allocate(DType::kF32, {static_cast<int64_t>(ratings.size())})),
        time(ratings.back().time * 1'000'000'000) {
    for (size_t i = 0; i < ratings.size(); ++i) {
      user.mutable_data<uint64_t>()[i] = ratings[i].user;
      movie.mutable_data<uint64_t>()[i] = ratings[i].movie;
      liked.mutable_data<float>()[i] = ratings[i].liked;
    }
  }
};

int Run(const std::string& program, const std::string& out, const std::string& movielens) {
  std::vector<Rating> ratings;
  if (!movielens.empty()) ratings = ReadMovieLens(movielens);
  if (ratings.empty()) {
    fmt::print("{}; ratings are made up\n", movielens.empty()
                                                ? "no MovieLens folder was given"
                                                : movielens + "/u.data has no ratings");
    ratings = MakeUpRatings();
  }
  std::stable_sort(ratings.begin(), ratings.end(),
                   [](const Rating& a, const Rating& b) { return a.time < b.time; });

  FileSystem& fs = PosixFileSystem();
  const auto ops = StandardOps();
  const auto builders = StandardBuilders();
  const Program flat = Flatten(ParseFile(fs, program, ops, *builders), *builders);
  const auto infer = Compile(flat, "infer");
  const auto train = Compile(flat, "train");
  const auto state = State::Create(flat, /*seed=*/1);
  const auto lock = LockState(fs, out);
  const auto commits = MakeCommits(fs, out, flat, *state);

  std::vector<float> predicted, liked;
  double auc = 0;
  bool committing = false;
  const int64_t batches = static_cast<int64_t>(ratings.size()) / kBatch;
  for (int64_t i = 0; i < batches; ++i) {
    const std::span all(ratings);
    const Batch batch(all.subspan(static_cast<size_t>(i * kBatch), kBatch));
    const Tensor p = infer->Run(*state, {{"user", batch.user}, {"movie", batch.movie}}).outputs[0];
    predicted.insert(predicted.end(), p.data<float>().begin(), p.data<float>().end());
    liked.insert(liked.end(), batch.liked.data<float>().begin(), batch.liked.data<float>().end());
    RunOptions options;
    options.event_time = batch.time;
    train->Run(*state, {{"user", batch.user}, {"movie", batch.movie}, {"liked", batch.liked}},
               options);
    if ((i + 1) % kCommitEvery != 0 && i + 1 != batches) continue;

    auc = Auc(predicted, liked);
    predicted.clear();
    liked.clear();
    const TableInfo info = state->table("taste").Info();
    fmt::print("step {:>5}: AUC of what came new {:.3f}; {} rows, {} keys waiting, {} expired\n",
               i + 1, auc, info.rows, info.waiting, info.expired);
    if (committing) commits->Wait();
    commits->StartCommit();  // goes on beside the steps that follow
    committing = true;
  }
  const CommitResult last = commits->Wait();
  fmt::print("commit {} of {} holds step {}. Look into it:\n", last.commit, out, last.step);
  fmt::print("  catamaran table info {} @taste --count\n", out);
  fmt::print("  catamaran table get {} @taste 1 --feature movie\n", out);
  fmt::print("  catamaran table diff {} @taste --commits {} {}\n", out, last.commit - 1,
             last.commit);
  return auc > 0.6 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: example_movies examples/movies.ctm OUT [MOVIELENS]\n");
    return 2;
  }
  try {
    return Run(argv[1], argv[2], argc == 4 ? argv[3] : "");
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
