// Every function of cassini.h as calls that can be repeated and compared, on inputs that take them through their ways.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "c_structs.hpp"
#include "cassini/cassini.h"

namespace cassini::test {

// All that a call may write, in one place: that nothing was written is a comparison of bytes.
struct Outputs {
  static constexpr std::size_t kMost = 64;  // jobs, links, members
  int64_t shift[kMost];
  int64_t slack[kMost];
  int64_t hold[kMost];
  double lower[kMost];
  double upper[kMost];
  double claimed;
  uint8_t is_free[kMost];
  int32_t status[kMost];
  cassini_link_result result[kMost];
  cassini_joint_result joint;
  cassini_error error;
  cassini_options options;
  int64_t prepared;  // 1: a handle came back, and was freed

  bool operator==(const Outputs& other) const;
};

// What the kernel says where only a status is known. `link`: of a batch.
void say(cassini_error& error, int32_t status, int64_t link = -1);

// As before a call: no output has a value that the kernel would write; the error is as the caller sets it.
Outputs blank();

// Problems of links, concatenated as cassini.h wants them.
struct LinkArrays {
  std::vector<int64_t> job_offset{0}, period, phase_offset{0}, start, length, rate, capacity;

  void add_job(int64_t ticks, int phases, std::mt19937& rng);
  void add_again(const LinkArrays& from, std::size_t job);
  void close_link(int64_t kbit_s);
  cassini_links all() const;
  cassini_link one(std::size_t i) const;
};

// Links around a ring of jobs, each on three of them.
struct Ring {
  LinkArrays jobs;  // one link that has them all
  LinkArrays links;
  std::vector<int64_t> link, member;
  std::vector<double> weight, bound;
  cassini_prepared_links* prepared = nullptr;
  cassini_prepared_links* limited = nullptr;  // all beyond the limits of folding
  cassini_baseline* baseline = nullptr;       // without the last two links

  Ring(int64_t n_jobs, int phases, std::vector<int64_t> periods, unsigned seed);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Of the first n_links links.
  cassini_joint joint(std::size_t n_links) const;
};

struct PublicCall {
  std::string name;
  std::function<int32_t(Outputs&)> run;
  int32_t status = CASSINI_OK;  // what it returns if nothing comes in between
  bool tells = true;            // whether it takes an error
  // Batches: brings in what is also right where single links were not solved, by their status. May be empty.
  std::function<void(Outputs& expected, const Outputs& got)> partly = {};
  Outputs expected{};
};

class PublicCalls {
 public:
  // `cancel` of every call that can be canceled; may be null. Not 0 now: expected is what comes without it all the
  // same.
  explicit PublicCalls(const int32_t* cancel = nullptr);

  const std::vector<PublicCall>& all() const { return all_; }

  // Those that take the flag.
  std::span<const PublicCall> cancelable() const { return {all_.data(), n_cancelable_}; }

  // Whether a call that was disturbed (`reason`: ENOMEM, ECANCELED) left its outputs as promised: the answer that is
  // always given, or a refusal and nothing written.
  static bool kept_promise(const PublicCall& call, int32_t status, const Outputs& got, int32_t reason);

 private:
  void add(std::string name, std::function<int32_t(Outputs&)> run, int32_t status = CASSINI_OK);
  void add_links();
  void add_batches();
  void add_joint_problems(const Ring& ring, const std::string& which);
  void add_baselines(const Ring& ring, const std::string& which);
  void add_refusals();
  cassini_options options() const;

  const int32_t* cancel_;
  LinkArrays links_;
  std::unique_ptr<cassini_prepared_links, decltype(&cassini_free_prepared_links)> prepared_{
      nullptr, &cassini_free_prepared_links};
  Ring small_;  // searched with proof
  Ring large_;  // by local search
  std::vector<PublicCall> all_;
  std::size_t n_cancelable_;
};

}  // namespace cassini::test
