// A card as the time reading sees it: peak rates as bare numbers, nothing optional.
#pragma once

#include "spec/dtype.h"
#include "spec/kernel_rates.h"
#include "spec/machine.h"

namespace trainfit::time {

struct Card {
  double sms = 0;
  double bandwidth = 0;  // bytes a second, datasheet
  double l2_bytes = 0;
  double tensor_bf16 = 0;  // FLOP a second, dense, fp32 accumulation
  double tensor_fp16 = 0;
  double tensor_fp8 = 0;
  // FLOP a second of matrix products that the power limit allows, at bf16's cost a FLOP.
  double power_limited_rate = 0;
  bool has_asynchronous_products = false;  // Hopper, Blackwell of servers: wgmma, tcgen05
  double host_link = 0;                    // bytes a second to or from pinned host memory
  double host_optimizer = 0;  // bytes a second that one rank's CPU optimizer goes through
  double fp32 = 0;            // of fp32 matrix products: vector rate, TF32 off
  spec::KernelRates rates;

  double Peak(spec::Dtype dtype) const;
};

// What is unknown is taken from what is known: fp16 = bf16, fp32 = bf16 / 16, …; a card without
// bf16 units computes bf16 at its fp32 rate.
Card MakeCard(const spec::Gpu& gpu);

}  // namespace trainfit::time
