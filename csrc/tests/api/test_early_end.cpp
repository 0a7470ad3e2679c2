// The deadline and the cancel flag are heard wherever a call may take long, also before its search begins.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "c_structs.hpp"
#include "cassini/cassini.h"
#include "check.hpp"

using namespace cassini::test;

namespace {

// As many jobs as a link may have, each with the next a prime in common: they become free one after the other, and which
// those are takes long to find out.
struct Chain {
  std::vector<int64_t> period, offset{0}, start, length, rate, shift;

  Chain() {
    int64_t last = 130000, prime = next_prime(last);
    for (int64_t j = 0; j < CASSINI_MAX_JOBS; ++j) {
      last = prime;
      prime = next_prime(prime);
      period.push_back(2 * last * prime);
      start.push_back(0);
      length.push_back(period.back() / 4);
      rate.push_back(5);
      offset.push_back(j + 1);
    }
    shift.resize(period.size());
  }

  cassini_link link() const { return link_of(1000, 0, length_of(period), period, offset, start, length, rate); }

 private:
  static int64_t next_prime(int64_t after) {
    for (int64_t n = after + 1;; ++n) {
      bool prime = true;
      for (int64_t d = 2; d * d <= n && prime; ++d) prime = n % d != 0;
      if (prime) return n;
    }
  }
};

struct Evaluated {
  int32_t status = -7;
  int64_t n_free = 0;
  double lower = 0.0;
  double upper = 0.0;
};

Evaluated evaluate(const Chain& chain, int64_t deadline_ns, const int32_t* cancel) {
  Evaluated out;
  std::vector<uint8_t> is_free(chain.period.size());
  const cassini_link link = chain.link();
  const cassini_evaluation to = evaluation(&out.lower, &out.upper, nullptr, nullptr, is_free.data());
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  options.deadline_ns = deadline_ns;
  out.status = cassini_evaluate_link(&link, chain.shift.data(), &options, cancel, &to, nullptr);
  out.n_free = std::count(is_free.begin(), is_free.end(), 1);
  return out;
}

}  // namespace

TEST(an_evaluation_hears_its_deadline_and_the_flag_while_the_link_is_prepared) {
  const Chain chain;
  const int32_t set = 1;
  const Evaluated whole = evaluate(chain, std::numeric_limits<int64_t>::max(), nullptr);
  const Evaluated late = evaluate(chain, 0, nullptr);
  const Evaluated canceled = evaluate(chain, std::numeric_limits<int64_t>::max(), &set);
  CHECK(whole.status == CASSINI_OK && late.status == CASSINI_OK && canceled.status == CASSINI_ECANCELED);
  CHECK(late.lower <= late.upper && late.upper <= 1.0);
  // Which jobs were found free tells how far the call came, whatever the machine.
  CHECK(whole.n_free == CASSINI_MAX_JOBS && late.n_free < CASSINI_MAX_JOBS / 2);
}

TEST(preparing_many_links_hears_the_flag) {
  const Chain chain;
  const int32_t set = 1;
  const std::vector<int64_t> capacity{1000}, job_offset{0, CASSINI_MAX_JOBS};
  const cassini_links links =
      links_of(capacity, job_offset, chain.period, chain.offset, chain.start, chain.length, chain.rate);
  cassini_prepared_links* prepared = nullptr;
  int32_t status = -7;
  CHECK(cassini_prepare_links(&links, nullptr, &set, &prepared, &status, nullptr) == CASSINI_ECANCELED);
  CHECK(prepared == nullptr && status == -7);
}
