// SPDX-License-Identifier: GPL-2.0
/* Property "inject"; see injections.h. */
#include "injections.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "device.h"
#include "rdma.h"

namespace e810 {

namespace {

/* Cuts @text at the first @mark and returns what was before it. */
std::string_view cut_before(std::string_view &text, char mark)
{
	size_t at = text.find(mark);
	std::string_view before = text.substr(0, at);

	text = at == text.npos ? std::string_view{} : text.substr(at + 1);
	return before;
}

std::optional<uint32_t> number(std::string_view text)
{
	bool hex = text.starts_with("0x");
	uint32_t value;

	if (hex)
		text.remove_prefix(2);
	auto [stop, error] =
		std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
	if (text.empty() || error != std::errc{} || stop != text.data() + text.size())
		return std::nullopt;
	return value;
}

/* The causes that a name stands for: aeq, ceqN, or all; none if it is no name. */
std::vector<Cause> causes_of(std::string_view name)
{
	std::vector<Cause> causes;

	if (name == "aeq" || name == "all")
		causes.push_back(Cause::aeq());
	for (uint32_t i = 0; name == "all" && i < Hmc::max_ceqs; i++)
		causes.push_back(Cause::ceq(i));
	if (name.starts_with("ceq"))
		if (auto ceq = number(name.substr(3)); ceq && *ceq < Hmc::max_ceqs)
			causes.push_back(Cause::ceq(*ceq));
	return causes;
}

/** What happens to the whole device; takes no values. */
struct Fault {
	std::string_view kind;
	void (*happen)(Device &dev);
};

constexpr Fault faults[] = {
	{"hmc-error", [](Device &dev) { dev.interrupts.raise_oicr(oicr::hmc_error); }},
	{"push-error", [](Device &dev) { dev.interrupts.raise_oicr(oicr::pe_push); }},
	{"critical-error", [](Device &dev) { dev.interrupts.raise_oicr(oicr::pe_critical_error); }},
	{"core-reset", [](Device &dev) { dev.reset_block.start(ResetKind::core); }},
	{"global-reset", [](Device &dev) { dev.reset_block.start(ResetKind::global); }},
	{"cqp-hang", [](Device &dev) { dev.rdma.cqp.hang(); }},
	{"send-hang", [](Device &dev) { dev.rdma.roce.hang(); }},
};

} // namespace

/** NAME=VALUE pairs; each is taken once, and what is left over at the end is an error. */
class Injections::Item {
public:
	explicit Item(std::string_view text) : kind(cut_before(text, ':'))
	{
		while (!text.empty()) {
			std::string_view value = cut_before(text, ',');
			std::string_view name = cut_before(value, '=');

			pairs_.emplace_back(name, value);
		}
	}

	std::optional<std::string_view> text(std::string_view name)
	{
		auto pair = std::find_if(pairs_.begin(), pairs_.end(),
					 [&](const auto &p) { return p.first == name; });

		if (pair == pairs_.end())
			return std::nullopt;
		std::string_view value = pair->second;
		pairs_.erase(pair);
		return value;
	}

	uint32_t value(std::string_view name, uint32_t otherwise)
	{
		auto given = text(name);
		auto parsed = given ? number(*given) : std::optional<uint32_t>{otherwise};

		ok_ = ok_ && parsed;
		return parsed.value_or(otherwise);
	}

	/** Were all values numbers, and all names known? */
	bool ok() const { return ok_ && pairs_.empty(); }

	const std::string_view kind;

private:
	std::vector<std::pair<std::string_view, std::string_view>> pairs_;
	bool ok_ = true;
};

const char *Injections::inject(std::string_view text)
{
	while (!text.empty())
		if (const char *error = inject_one(cut_before(text, ';')))
			return error;
	return nullptr;
}

const char *Injections::inject_one(std::string_view text)
{
	Item item(text);

	rdma_.dev.trace.event("inject").str("what", text);
	if (item.kind == "ae")
		return events(item);
	if (item.kind == "cqe")
		return forged(item);
	if (item.kind == "ceqe")
		return completions(item);
	if (item.kind == "irq")
		return interrupts(item);
	if (item.kind == "drop")
		return drop(item);
	if (item.kind == "release") {
		bool newest_first = item.value("newest", 0);

		if (!item.ok())
			return "release takes newest";
		rdma_.cqp.release(newest_first);
		return nullptr;
	}
	for (const Fault &fault : faults) {
		if (item.kind != fault.kind)
			continue;
		if (!item.ok())
			return "this injection takes no values";
		fault.happen(rdma_.dev);
		made_++;
		return nullptr;
	}
	return "injections are ae, cqe, ceqe, irq, drop, release, the errors hmc-error, push-error "
	       "and critical-error, core-reset, global-reset, cqp-hang and send-hang";
}

const char *Injections::events(Item &item)
{
	Events more = {};
	uint32_t code = item.value("code", UINT32_MAX);
	uint32_t source = item.value("source", static_cast<uint32_t>(hw::AeSource::sq));
	bool burst = item.value("burst", 0);

	more.event.id = item.value("id", 0);
	more.event.wqe_index = item.value("wqe", 0);
	more.left = item.value("n", 1);
	if (!item.ok() || code > hw::aeqe::code.max() || source > hw::aeqe::source.max())
		return "ae takes code (12 bits), source (4 bits), id, wqe, n and burst";
	more.event.code = static_cast<hw::AeCode>(code);
	more.event.source = static_cast<hw::AeSource>(source);
	if (const QueuePair *qp = rdma_.qps.find(more.event.id)) {
		more.event.context = qp->get(hw::qpc::completion_ctx);
		more.event.state = qp->state;
	}
	made_ += more.left;
	if (burst) {
		/* Once one is lost so are all that follow, however many. */
		for (bool room = true; room && more.left; more.left--) {
			room = rdma_.events.aeq_room();
			rdma_.events.post(more.event);
		}
		return nullptr;
	}
	events_.push_back(more);
	aeq_has_room();
	return nullptr;
}

void Injections::aeq_has_room()
{
	while (!events_.empty() && rdma_.events.aeq_room()) {
		if (events_.front().left) {
			events_.front().left--;
			rdma_.events.post(events_.front().event);
		} else {
			events_.erase(events_.begin());
		}
	}
}

const char *Injections::forged(Item &item)
{
	using namespace hw::cqe;
	uint32_t cq = item.value("cq", UINT32_MAX);
	uint32_t n = item.value("n", 1);
	uint32_t major = item.value("major", 0);
	hw::Cqe entry;

	entry.set(hw::cqe::qp, item.value("qp", 0));
	entry.set(wqe_index, item.value("wqe", 0));
	entry.set(length, item.value("length", 0));
	entry.set(op, item.value("op", 0));
	entry.set(is_sq, item.value("send", 0));
	entry.set(error, major != 0);
	entry.set(major_error, major);
	entry.set(minor_error, item.value("minor", 0));
	if (!item.ok() || cq == UINT32_MAX)
		return "cqe takes cq, qp, wqe, length, op, send, major, minor and n";
	for (; n; n--, made_++)
		if (!rdma_.cqs.post(cq, entry, false))
			return "there is no such CQ with room";
	return nullptr;
}

const char *Injections::completions(Item &item)
{
	uint32_t ceq = item.value("ceq", 0);
	uint32_t cq = item.value("cq", UINT32_MAX);
	bool stale = item.value("stale", 0);
	uint32_t batch = item.value("batch", 1);
	uint32_t n = item.value("n", 1);
	auto vector = ceq < Hmc::max_ceqs ? rdma_.dev.interrupts.vector_of(Cause::ceq(ceq))
					  : std::nullopt;

	if (!item.ok() || cq == UINT32_MAX || !batch)
		return "ceqe takes ceq, cq, n, batch and stale";
	if (!rdma_.events.ceq_exists(ceq) || !vector)
		return "there is no such CEQ with a vector";
	/* Nothing keeps a driver from overrunning but this. */
	batch = std::min(batch, rdma_.events.ceq_size(ceq) / 2);
	repeats_.push_back({*vector, false, ceq, rdma_.cqs.event_context(cq), stale, batch, n});
	made_ += n;
	go_on(repeats_.back());
	return nullptr;
}

const char *Injections::interrupts(Item &item)
{
	std::vector<Cause> causes = causes_of(item.text("cause").value_or(""));
	uint32_t n = item.value("n", 1);

	if (!item.ok() || causes.empty())
		return "irq takes cause (aeq, ceqN or all) and n";
	for (Cause cause : causes)
		if (auto vector = rdma_.dev.interrupts.vector_of(cause)) {
			repeats_.push_back({*vector, true, 0, 0, false, 1, n});
			made_ += n;
			go_on(repeats_.back());
		}
	return nullptr;
}

const char *Injections::drop(Item &item)
{
	std::vector<Cause> causes = causes_of(item.text("cause").value_or(""));
	uint32_t n = item.value("n", 1);

	if (!item.ok() || causes.empty())
		return "drop takes cause (aeq, ceqN or all) and n";
	for (Cause cause : causes)
		if (auto vector = rdma_.dev.interrupts.vector_of(cause)) {
			rdma_.dev.interrupts.drop(*vector, n);
			made_ += n;
		}
	return nullptr;
}

void Injections::vector_enabled(uint32_t vector)
{
	std::erase_if(repeats_, [](const Repeat &r) { return !r.left; });
	for (Repeat &repeat : repeats_)
		if (repeat.vector == vector)
			return go_on(repeat);
}

/* The next of its interrupts, or the next batch of its entries. */
void Injections::go_on(Repeat &repeat)
{
	uint32_t now = std::min(repeat.batch, repeat.left);

	repeat.left -= now;
	if (repeat.spurious && now)
		return rdma_.dev.interrupts.send_spurious(repeat.vector);
	while (now--)
		rdma_.events.post_completion(repeat.ceq, repeat.context, repeat.stale);
}

uint32_t Injections::left() const
{
	uint32_t sum = rdma_.cqp.held();

	for (const Events &e : events_)
		sum += e.left;
	for (const Repeat &r : repeats_)
		sum += r.left;
	return sum;
}

void Injections::reset()
{
	events_.clear();
	repeats_.clear();
}

} // namespace e810
