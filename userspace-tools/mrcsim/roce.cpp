// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "roce.hpp"

#include <algorithm>

namespace mrcsim
{
/* Fast recovery, additive increase, hyper increase: section 3 of the
 * publication. */
void Dcqcn::increase()
{
	/* 40 and 400 Mb/s at 40 Gb/s. */
	const u64 ai = cfg_.ai ? cfg_.ai : line_ / 1000;
	const u64 hai = cfg_.hai ? cfg_.hai : line_ / 100;
	const u32 most = std::max(by_time_, by_bytes_);
	const u32 least = std::min(by_time_, by_bytes_);

	if (least > cfg_.recovery)
		target_ += (least - cfg_.recovery) * hai;
	else if (most > cfg_.recovery)
		target_ += ai;
	target_ = std::min(target_, line_);
	rate_ = (rate_ + target_ + 1) / 2;
	slow_ = rate_ < line_;
}

/* Timers that have expired. At full rate there are none. */
void Dcqcn::advance(u64 now)
{
	while (slow_ && now >= std::min(timer_at_, alpha_at_)) {
		if (alpha_at_ <= timer_at_) {
			alpha_ -= alpha_ >> cfg_.gain;
			alpha_at_ += cfg_.alpha_timer;
			continue;
		}
		by_time_++;
		timer_at_ += cfg_.timer;
		increase();
	}
}

u64 Dcqcn::rate(u64 now)
{
	advance(now);
	return rate_;
}

void Dcqcn::sent(u64 bytes, u64 now)
{
	advance(now);
	if (!slow_)
		return;
	bytes_ += bytes;
	while (bytes_ >= cfg_.bytes) {
		bytes_ -= cfg_.bytes;
		by_bytes_++;
		increase();
	}
}

void Dcqcn::cnp(u64 now)
{
	advance(now);
	if (now < cut_at_)
		return;
	cut_at_ = now + cfg_.between;
	if (!slow_)
		alpha_ = one;
	target_ = rate_;
	rate_ -= rate_ * alpha_ / (2 * u64{one});
	rate_ = std::max(rate_, std::max(line_ / 10'000, u64{1}));
	alpha_ += (one - alpha_) >> cfg_.gain;
	timer_at_ = now + cfg_.timer;
	alpha_at_ = now + cfg_.alpha_timer;
	bytes_ = 0;
	by_time_ = by_bytes_ = 0;
	slow_ = rate_ < line_;
}

void RoceSender::post(u32 flow, u32 bytes, u32 pmtu)
{
	const u32 packets = static_cast<u32>((u64{bytes} + pmtu - 1) / pmtu);

	mrc_assert(may_post());
	message[(head + count++) % send_slots] = {flow, bytes, end, packets};
	end += packets;
}

const RoceMessage &RoceSender::message_of(u32 psn) const
{
	u32 n = head;

	while (psn - message[n].first >= message[n].packets)
		n = (n + 1) % send_slots;
	return message[n];
}

bool RoceSender::reap(u32 &flow)
{
	if (!count || una - message[head].first < message[head].packets)
		return false;
	flow = message[head].flow;
	head = (head + 1) % send_slots;
	count--;
	return true;
}
} // namespace mrcsim
