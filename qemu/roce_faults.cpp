// SPDX-License-Identifier: GPL-2.0
/* Faults of the cable; see roce_faults.h. */
#include "roce_faults.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "packet.h"

namespace e810 {

namespace {

constexpr const char *names[] = {"drop", "dup", "reorder", "corrupt", "delay"};

/* How long a frame is late at most, and how long one waits for the next to be put behind it. */
constexpr int64_t most_delay = 5'000'000;
constexpr int64_t most_wait = 2'000'000;

} // namespace

RoceFaults::RoceFaults(Device &dev, const char *text, unsigned direction, Pass pass, void *block)
	: pass_(pass), block_(block), timer_(dev, callback<&RoceFaults::tick>, this)
{
	valid_ = !text || parse(text);
	state_ = state_ * 2 + direction;
}

/* drop:P,dup:P,reorder:P,corrupt:P,delay:P;seed=N, each part optional. */
bool RoceFaults::parse(const char *text)
{
	constexpr std::string_view seed = "seed=";
	std::string_view rest = text;
	size_t semicolon = rest.find(';');

	if (semicolon != rest.npos) {
		std::string_view tail = rest.substr(semicolon + 1);

		if (tail.substr(0, seed.size()) != seed)
			return false;
		tail.remove_prefix(seed.size());
		auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), state_);
		if (error != std::errc() || end != tail.data() + tail.size())
			return false;
		rest = rest.substr(0, semicolon);
	}
	on_ = true;
	while (!rest.empty()) {
		size_t comma = std::min(rest.find(','), rest.size());

		if (!parse_entry(rest.substr(0, comma)))
			return false;
		rest.remove_prefix(std::min(comma + 1, rest.size()));
	}
	return true;
}

bool RoceFaults::parse_entry(std::string_view entry)
{
	size_t colon = entry.find(':');

	if (colon == entry.npos)
		return false;
	auto name = std::find(std::begin(names), std::end(names), entry.substr(0, colon));
	std::string value(entry.substr(colon + 1));
	char *end;
	double probability = std::strtod(value.c_str(), &end);

	if (name == std::end(names) || value.empty() || *end ||
	    !(probability >= 0 && probability <= 1))
		return false;
	probability_[static_cast<size_t>(name - std::begin(names))] = probability;
	return true;
}

/* SplitMix64. */
uint64_t RoceFaults::random()
{
	uint64_t z = state_ += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

bool RoceFaults::happens(Kind kind)
{
	constexpr double steps = 1ull << 53;

	return static_cast<double>(random() >> 11) / steps < probability_[kind];
}

void RoceFaults::put(Frame &&frame)
{
	bool dropped = happens(drop), doubled = happens(dup), reordered = happens(reorder);
	bool corrupted = happens(corrupt), delayed = happens(delay);
	uint64_t place = random();
	int64_t lateness = static_cast<int64_t>(random() % most_delay);

	if (dropped || doubled || reordered || corrupted || delayed)
		made_++;
	if (dropped)
		return let_go(true);
	/* Behind Ethernet, IP and UDP headers, where the ICRC finds it. */
	size_t headers = ethernet_header + vlan_tag + ipv6_header + udp_header;
	if (corrupted && frame.size() > headers)
		frame[headers + place % (frame.size() - headers)] ^= 1u << (place >> 32) % 8;
	if (doubled)
		pass_(block_, Frame(frame));
	if (delayed || reordered)
		return hold(std::move(frame), !delayed, delayed ? lateness : most_wait);
	pass_(block_, std::move(frame));
	let_go(true);
}

void RoceFaults::hold(Frame &&frame, bool behind_next, int64_t time)
{
	if (late_.size() == most_late)
		return pass_(block_, std::move(frame));
	late_.push_back({e810_now() + time, behind_next, std::move(frame)});
	timer_.arm_in(1);
}

/* Passes on what has waited long enough, or for the frame that has just passed. */
void RoceFaults::let_go(bool next_passed)
{
	int64_t now = e810_now();
	std::deque<Late> ready;
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < late_.size();) {
		if (late_[i].due <= now || (next_passed && late_[i].behind_next)) {
			ready.push_back(std::move(late_[i]));
			late_.erase(late_.begin() + static_cast<ptrdiff_t>(i));
		} else {
			next = std::min(next, late_[i++].due);
		}
	}
	if (next != INT64_MAX)
		timer_.arm_in(next - now);
	for (Late &late : ready)
		pass_(block_, std::move(late.frame));
}

} // namespace e810
