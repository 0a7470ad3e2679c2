#include "api/guarded.hpp"

#include <charconv>

#include "api/sized_struct.hpp"

namespace cassini {
namespace {

// Text in an array that has an end; what does not fit is left out.
class Line {
 public:
  template <std::size_t N>
  explicit Line(char (&room)[N]) : at_(room), last_(room + N - 1) {
    *at_ = '\0';
  }

  Line& operator<<(const char* text) {
    while (*text != '\0' && at_ < last_) *at_++ = *text++;
    *at_ = '\0';
    return *this;
  }

  Line& operator<<(int64_t number) {
    char digits[24];
    *std::to_chars(digits, digits + 23, number).ptr = '\0';
    return *this << digits;
  }

 private:
  char* at_;
  char* last_;
};

}  // namespace

void refuse(const Refused& what) { throw Refused(what); }

bool is_sound(const cassini_error* error) noexcept {
  return error == nullptr || is_size_of<cassini_error>(error->size);
}

void say(cassini_error* error, const Refused& what, int64_t link) noexcept {
  if (error == nullptr) return;
  cassini_error out{};
  out.link = link;
  out.index = what.index;
  out.status = CASSINI_EINVAL;
  Line(out.argument) << what.argument;
  Line text(out.text);
  text << what.argument;
  if (what.index >= 0) text << "[" << what.index << "]";
  text << ": expected ";
  if (what.expected != nullptr) text << what.expected;
  if (what.expected == nullptr) text << what.low;
  if (what.expected == nullptr && what.low != what.high) text << " .. " << what.high;
  if (what.has_got) text << ", got " << what.got;
  write_sized(error, error->size, out);
}

void say(cassini_error* error, int32_t status, int64_t link) noexcept {
  if (error == nullptr) return;
  cassini_error out{};
  out.link = link;
  out.index = -1;
  out.status = status;
  Line(out.text) << cassini_strerror(status);
  write_sized(error, error->size, out);
}

}  // namespace cassini
