// A vector that keeps its first N elements inside itself: links of a few jobs are solved without touching the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

namespace cassini {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  using value_type = T;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(const T& value) {
    const T copy = value;  // value may live in here
    if (size_ == capacity_) grow(size_ + 1);
    ::new (data_ + size_++) T(copy);
  }
  // Keeps the elements; new ones are value-initialised.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    for (std::size_t i = size_; i < size; ++i) ::new (data_ + i) T();
    size_ = size;
  }
  // Room for `size` elements, whose values are not set; the old ones may be lost.
  T* overwrite(std::size_t size) {
    size_ = 0;
    if (size > capacity_) grow(size);
    size_ = size;
    return data_;
  }
  void assign(std::size_t size, const T& value) {
    const T copy = value;
    if (size > capacity_) grow(size);
    size_ = size;
    std::fill(begin(), end(), copy);
  }
  void append(const T* from, const T* to) {
    const auto count = static_cast<std::size_t>(to - from);
    if (size_ + count > capacity_) grow(size_ + count);
    if (count > 0) std::memcpy(static_cast<void*>(data_ + size_), static_cast<const void*>(from), count * sizeof(T));
    size_ += count;
  }
  // Appends `count` elements, whose values are not set; where they are.
  T* extend(std::size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    size_ += count;
    return data_ + (size_ - count);
  }
  void insert(const T* before, const T& value) {
    const auto at = static_cast<std::size_t>(before - data_);
    push_back(value);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void remove(const T* at) {
    std::copy(data_ + (at - data_) + 1, data_ + size_, data_ + (at - data_));
    --size_;
  }
  void erase_from(const T* from) { size_ = static_cast<std::size_t>(from - data_); }

 private:
  T* inside() { return reinterpret_cast<T*>(inline_); }
  bool on_heap() const { return data_ != reinterpret_cast<const T*>(inline_); }

  void grow(std::size_t least) {
    const std::size_t capacity = std::max(least, 2 * capacity_);
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::memcpy(static_cast<void*>(fresh), static_cast<const void*>(data_), size_ * sizeof(T));
    if (on_heap()) ::operator delete(data_);
    data_ = fresh;
    capacity_ = capacity;
  }
  void release() {
    if (on_heap()) ::operator delete(data_);
    data_ = inside();
    capacity_ = N;
    size_ = 0;
  }
  void take(SmallVector& other) {
    if (other.on_heap()) {
      data_ = std::exchange(other.data_, other.inside());
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
    } else {
      append(other.begin(), other.end());
      other.size_ = 0;
    }
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_ = inside();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace cassini
