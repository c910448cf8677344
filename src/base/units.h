// Quantities that carry their unit.
//
// A quantity is a number with five exponents (byte, FLOP, second, dollar, token); products and
// quotients follow the exponents, sums need equal ones. Bytes and tokens are integers with checked
// arithmetic; rates, times and money are doubles. Conversion to a bare number is always named.
#pragma once

#include <compare>
#include <cstdint>

#include "base/check.h"

namespace trainfit {

// Exponents of the base units.
template <int kByte, int kFlop, int kSecond, int kDollar, int kToken>
struct Dimension {};

// A real-valued quantity. `value()` is in base units: bytes, FLOP, seconds, dollars, tokens.
template <typename Dim>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return a * k; }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0;
};

using Flops = Quantity<Dimension<0, 1, 0, 0, 0>>;
using Seconds = Quantity<Dimension<0, 0, 1, 0, 0>>;
using Dollars = Quantity<Dimension<0, 0, 0, 1, 0>>;
using BytesPerSecond = Quantity<Dimension<1, 0, -1, 0, 0>>;
using FlopsPerSecond = Quantity<Dimension<0, 1, -1, 0, 0>>;
using DollarsPerSecond = Quantity<Dimension<0, 0, -1, 1, 0>>;
using TokensPerSecond = Quantity<Dimension<0, 0, -1, 0, 1>>;

// A count that is exact by nature. Overflow is a programmer's mistake: plan/ refuses sizes beyond
// what int64 can hold before any of this arithmetic runs.
template <typename Tag>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }

  constexpr auto operator<=>(const Count&) const = default;
  constexpr Count& operator+=(Count other) {
    CHECK(!__builtin_add_overflow(value_, other.value_, &value_)) << "integer overflow in a sum";
    return *this;
  }
  constexpr Count& operator-=(Count other) {
    CHECK(!__builtin_sub_overflow(value_, other.value_, &value_))
        << "integer overflow in a difference";
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return a += b; }
  friend constexpr Count operator-(Count a, Count b) { return a -= b; }
  friend constexpr Count operator-(Count a) { return Count() - a; }
  friend constexpr Count operator*(Count a, std::int64_t k) {
    std::int64_t product = 0;
    CHECK(!__builtin_mul_overflow(a.value_, k, &product)) << "integer overflow in a product";
    return Count(product);
  }
  friend constexpr Count operator*(std::int64_t k, Count a) { return a * k; }

 private:
  std::int64_t value_ = 0;
};

struct BytesTag {};
struct TokensTag {};
using Bytes = Count<BytesTag>;
using Tokens = Count<TokensTag>;

constexpr Bytes kKiB{std::int64_t{1} << 10};
constexpr Bytes kMiB{std::int64_t{1} << 20};
constexpr Bytes kGiB{std::int64_t{1} << 30};
constexpr Bytes kGB{1'000'000'000};

constexpr double InGiB(Bytes b) { return static_cast<double>(b.value()) / (1024.0 * 1024 * 1024); }
constexpr double InGB(Bytes b) { return static_cast<double>(b.value()) / 1e9; }
constexpr Bytes BytesFromGiB(double gib) {
  return Bytes(static_cast<std::int64_t>(gib * 1024 * 1024 * 1024));
}

constexpr Seconds operator/(Bytes b, BytesPerSecond rate) {
  return Seconds(static_cast<double>(b.value()) / rate.value());
}
constexpr Seconds operator/(Flops f, FlopsPerSecond rate) {
  return Seconds(f.value() / rate.value());
}
constexpr Dollars operator*(DollarsPerSecond rate, Seconds t) {
  return Dollars(rate.value() * t.value());
}
constexpr DollarsPerSecond PerHour(Dollars d) { return DollarsPerSecond(d.value() / 3600.0); }
constexpr Dollars InDollarsPerHour(DollarsPerSecond rate) { return Dollars(rate.value() * 3600.0); }

// Smallest multiple of `step` that is not below `value`; step > 0.
constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}
constexpr Bytes RoundUp(Bytes value, Bytes step) {
  return Bytes(RoundUp(value.value(), step.value()));
}
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace trainfit
