// SPDX-License-Identifier: GPL-2.0
/* Registers, control QP and event queues of the fake engine; see engine.h. */
#include "engine.h"

#include "base/memory.h"
#include "hw/regs.h"

namespace irdma::fake {

namespace reg = hw::reg;

namespace {

constexpr u64 bus_delay = 200; /* nanoseconds */
constexpr u32 own_vectors = 4; /* of ice, before those that it lends */

void *room_for(u64 bytes)
{
	void *room = bridge_alloc(bytes, false);

	if (!room)
		bridge_abort();
	return room;
}

/* What the device offers in a small machine: word of the buffer, count, size or block. */
struct Offer {
	hw::HmcObject object;
	u32 count, size;
};

constexpr Offer offers[] = {
	{hw::HmcObject::qp, 64, 9},	    {hw::HmcObject::cq, 128, 6},
	{hw::HmcObject::hte, 4096, 6},	    {hw::HmcObject::arp, 64, 6},
	{hw::HmcObject::mr, 1024, 6},	    {hw::HmcObject::xf, 2048, 6},
	{hw::HmcObject::xffl, 2048, 4},	    {hw::HmcObject::q1, 32768, 6},
	{hw::HmcObject::q1fl, 8192, 4},	    {hw::HmcObject::timer, 4096, 6},
	{hw::HmcObject::fsimc, 32, 6},	    {hw::HmcObject::fsiav, 64, 6},
	{hw::HmcObject::pble, 1 << 20, 0},  {hw::HmcObject::rrf, 4096, 6},
	{hw::HmcObject::rrffl, 1024, 4},    {hw::HmcObject::hdr, 64, 6},
	{hw::HmcObject::md, 1024, 6},	    {hw::HmcObject::ooisc, 4096, 6},
	{hw::HmcObject::ooiscffl, 1024, 4},
};

} // namespace

Engine::Engine(World &world) : world_(world)
{
	world.registers = this;
	pending_ = static_cast<Pending *>(room_for(max_pending * sizeof(Pending)));
	qp_ = static_cast<QueuePair *>(room_for(max_qps * sizeof(QueuePair)));
	cq_ = static_cast<CompletionQueue *>(room_for(max_cqs * sizeof(CompletionQueue)));
	segment_ = static_cast<u64 *>(room_for(max_segments * sizeof(u64)));
	node_ = static_cast<Node *>(room_for(max_nodes * sizeof(Node)));

	fpm.clear();
	fpm.set(hw::fpm_query::max_sds, 16);
	fpm.set(hw::fpm_query::max_ceqs, 16);
	fpm.set(hw::fpm_query::hash_multiplier, 1);
	fpm.set(hw::fpm_query::timer_bucket, 512);
	for (const Offer &each : offers) {
		offer(each.object, each.count);
		offer_size(each.object, each.size);
	}
	features[0].set(hw::cqp_features::entry_count.put(3) | hw::cqp_features::fw_major.put(1) |
			hw::cqp_features::fw_minor.put(52));
	features[1].set(hw::cqp_features::entry_type.put(1));
	features[2].set(hw::cqp_features::entry_type.put(26));
}

Engine::~Engine()
{
	world_.forget(this);
	bridge_free(pending_, false);
	bridge_free(qp_, false);
	bridge_free(cq_, false);
	bridge_free(segment_, false);
	bridge_free(node_, false);
}

u32 Engine::objects() const
{
	u32 n = 0;

	for (u32 i = 0; i < max_qps; i++)
		n += qp_[i].there;
	for (u32 i = 1; i < max_cqs; i++)
		n += cq_[i].there;
	for (bool there : stag_)
		n += there;
	for (bool there : ah_)
		n += there;
	for (bool there : group_)
		n += there;
	for (u32 i = 0; i < max_nodes; i++)
		n += node_[i].there;
	return n;
}

void Engine::forget_objects()
{
	for (u32 i = 0; i < max_qps; i++)
		qp_[i] = {};
	for (u32 i = hw::ccq_number + 1; i < max_cqs; i++)
		cq_[i] = {};
	forget_nodes();
	for (bool &there : stag_)
		there = false;
	for (bool &there : ah_)
		there = false;
	for (bool &there : group_)
		there = false;
}

void Engine::reset()
{
	world_.forget(this);
	cqp_ = refused_ = tail_error_ = false;
	head_ = tail_ = told_tail_ = 0;
	for (u32 i = 0; i < max_pending; i++)
		pending_[i].used = false;
	forget_objects();
	cq_[hw::ccq_number] = {};
	for (Ring &ring : ceq_)
		ring = {};
	aeq_ = {};
	for (u64 &mac : arp_)
		mac = 0;
	for (u32 i = 0; i < max_segments; i++)
		segment_[i] = 0;
	for (u32 i = 0; i < array_size(vector_on_); i++)
		vector_on_[i] = vector_waits_[i] = false;
}

/* ---- Registers ---- */

u32 Engine::read(u32 offset)
{
	if (gone)
		return ~0u;
	switch (offset) {
	case reg::glpe_cpustatus0:
	case reg::glpe_cpustatus1:
	case reg::glpe_cpustatus2:
		return cpu_status;
	case reg::glpci_lbarctrl:
		return static_cast<u32>(reg::lbarctrl_db_size.put(doorbell_code));
	case reg::pfpe_ccqpstatus:
		return cqp_ ? 1 : refused_ ? 0x80000000 : 0;
	case reg::pfpe_cqptail:
		return told_tail_ | (tail_error_ ? 0x80000000 : 0);
	case reg::pfpe_cqperrcodes:
		return error_codes_;
	case reg::glpe_criterr:
		return critical_error;
	case reg::glgen_rstat:
		return resetting ? 1 : 0;
	default:
		FAIL("register 0x%x is read", offset);
		return 0;
	}
}

u32 Engine::last_write(u32 offset) const
{
	for (u32 i = 1; i <= min(write_count_, kept_writes); i++) {
		const auto &w = written_[(write_count_ - i) % kept_writes];

		if (w.offset == offset)
			return w.value;
	}
	return 0;
}

u32 Engine::writes(u32 offset) const
{
	u32 n = 0;

	for (u32 i = 1; i <= min(write_count_, kept_writes); i++)
		n += written_[(write_count_ - i) % kept_writes].offset == offset;
	return n;
}

void Engine::write(u32 offset, u32 value)
{
	written_[write_count_++ % kept_writes] = {offset, value};
	if (gone)
		return;
	if (offset >= reg::glint_dyn_ctl(0) && offset < reg::glint_dyn_ctl(64)) {
		u32 vector = (offset - reg::glint_dyn_ctl(0)) / 4;

		EXPECT(vector >= own_vectors);
		vector_on_[vector] = value & 1;
		if (vector_on_[vector] && vector_waits_[vector])
			raise(vector);
		return;
	}
	if (offset >= reg::glint_ceqctl(0) && offset < reg::glint_ceqctl(max_ceqs)) {
		ceq_cause_[(offset - reg::glint_ceqctl(0)) / 4] = value;
		return;
	}
	switch (offset) {
	case reg::pfpe_cqptail:
	case reg::pfpe_ccqpstatus:
		EXPECT_EQ(value, 0);
		return;
	case reg::pfpe_cqpdb:
		return doorbell(value);
	case reg::pfpe_ccqphigh:
		context_high_ = value;
		return;
	case reg::pfpe_ccqplow: {
		u64 bus = static_cast<u64>(context_high_) << 32 | value;

		if (bus)
			write_context();
		else if (!stays_up)
			cqp_ = refused_ = false;
		return;
	}
	case reg::pfpe_cqarm:
		return arm(value);
	case reg::pfpe_cqack:
		EXPECT(value < max_cqs);
		return;
	case reg::pfpe_aeqalloc:
		aeqes_given_back += value;
		return;
	case reg::pfpe_wqealloc:
		doorbells++;
		last_doorbell = value;
		EXPECT(qp(value).there);
		return;
	case reg::pfint_aeqctl:
		aeq_cause_ = value;
		return;
	default:
		FAIL("register 0x%x is written, 0x%x", offset, value);
	}
}

/* ---- Control QP ---- */

void Engine::write_context()
{
	namespace f = hw::cqp_context;
	u64 bus = static_cast<u64>(context_high_) << 32 | last_write(reg::pfpe_ccqplow);
	auto *context = world_.dma_as<hw::Words<8>>(bus);

	if (!context || start == Start::never)
		return;
	if (start == Start::refused) {
		refused_ = true;
		error_codes_ = 0xffff0001;
		return;
	}
	EXPECT_EQ(bus % hw::cqp_context_align, 0);
	EXPECT_EQ(context->get(f::sq_size), 10); /* log2(2048 / 4) + 1 */
	EXPECT_EQ(context->get(f::protocol), 2); /* RoCE alone */
	EXPECT_EQ(context->get(f::major_version), 1);
	ring_bus_ = context->get(f::sq_addr);
	EXPECT_EQ(ring_bus_ % hw::cqp_ring_align, 0);
	world_.dma(ring_bus_, 2048 * 64);
	cookie_ = context->get(f::cookie);
	head_ = tail_ = told_tail_ = 0;
	lap_ = true;
	tail_error_ = false;
	cqp_ = true;
}

void Engine::doorbell(u32 head)
{
	if (!cqp_) {
		EXPECT_EQ(head, 0);
		return;
	}
	EXPECT(head < hw::cqp_ring_entries);
	EXPECT(head != head_); /* the same: an empty ring */
	head_ = head;
	world_.after(
		bus_delay, [](void *e, u64) { static_cast<Engine *>(e)->fetch(); }, this);
}

void Engine::fetch()
{
	while (!gone && cqp_ && tail_ != head_) {
		auto *wqe = world_.dma_as<hw::CqpWqe>(ring_bus_ + tail_ * sizeof(hw::CqpWqe));
		Command command;

		if (!wqe)
			return;
		command.wqe = *wqe;
		command.index = tail_;
		command.op = static_cast<hw::CqpOp>(wqe->get(hw::cqp::opcode));
		EXPECT_EQ(wqe->get(hw::cqp::valid), lap_);
		if (++tail_ == hw::cqp_ring_entries) {
			tail_ = 0;
			lap_ = !lap_;
		}
		execute(command);
	}
}

/* Bits that no field of the command has are 0. */
void Engine::check_reserved(const Command &command)
{
	hw::Layout layout = hw::cqp_layout(static_cast<u32>(command.op));

	EXPECT(*layout.name);
	for (u32 word = 0; word < hw::CqpWqe::count; word++) {
		u64 known = 0;

		for (u32 i = 0; i < layout.count; i++)
			if (layout.fields[i].word == word)
				known |= layout.fields[i].mask();
		if (command.wqe.qw[word].get() & ~known)
			FAIL("%s: word %u is 0x%llx, its fields are 0x%llx", layout.name, word,
			     command.wqe.qw[word].get(), known);
	}
}

const Command *Engine::last_of(hw::CqpOp op) const
{
	for (u32 i = 0; i < min(commands, kept); i++)
		if (last(i).op == op)
			return &last(i);
	return nullptr;
}

void Engine::execute(const Command &command)
{
	Answer a;

	a.index = command.index;
	check_reserved(command);
	history_[commands++ % kept] = command;
	counts_[static_cast<u32>(command.op) % hw::cqp_opcodes]++;
	if (on_command)
		on_command(command, a);
	if (a.carry_out)
		carry_out(command, a);
	else if (command.op == hw::CqpOp::destroy_qp)
		qp(static_cast<u32>(command.get(hw::cqp_qp::qp))).kept = true;
	answer(command, a);
}

void Engine::answer(const Command &command, const Answer &a)
{
	for (u32 copy = 0; copy < a.copies && !a.silent; copy++) {
		u32 slot = 0;

		while (slot < max_pending && pending_[slot].used)
			slot++;
		if (slot == max_pending) {
			FAIL("more answers than the engine can remember");
			return;
		}
		pending_[slot] = {true, command, a};
		world_.after(
			a.delay + copy,
			[](void *e, u64 s) {
				static_cast<Engine *>(e)->answer_now(static_cast<u32>(s));
			},
			this, slot);
	}
}

void Engine::answer_now(u32 slot)
{
	const Pending p = pending_[slot];
	bool ccq = cq_[hw::ccq_number].there;

	pending_[slot].used = false;
	if (gone || !cqp_)
		return;
	told_tail_ = (p.answer.index + 1) % hw::cqp_ring_entries;
	tail_error_ = !ccq && p.answer.error;
	if (tail_error_)
		error_codes_ = static_cast<u32>(p.answer.major) << 16 | p.answer.minor;
	if (ccq)
		write_ccq(p.answer);
}

void Engine::write_ccq(const Answer &a)
{
	namespace f = hw::ccqe;
	CompletionQueue &ccq = cq_[hw::ccq_number];
	hw::CcqEntry entry;

	entry.set(f::cookie, cookie_ ^ a.cookie_flip);
	entry.set(f::return_value, a.value);
	entry.set(f::wqe_index, a.index);
	entry.set(f::error, a.error);
	entry.set(f::major_error, a.major);
	entry.set(f::minor_error, a.minor);
	ccq.stuck = ccq.stuck || a.stale;
	ccq.ring.lap ^= a.stale;
	bool written = put(ccq.ring, entry.qw, 4, 3);
	ccq.ring.lap ^= a.stale;
	if (written && !a.no_interrupt)
		announce(ccq);
}

void Engine::stray_answer(u32 index, u64 cookie_flip)
{
	Answer a;

	a.index = index;
	a.cookie_flip = cookie_flip;
	write_ccq(a);
}

/* ---- Queues that it writes ---- */

bool Engine::put(Ring &ring, const hw::Le64 *words, u32 count, u32 valid_word)
{
	u64 at = u64{ring.next} * count * sizeof(u64);
	u64 bus = ring.listed ? pble(ring.first_pble + at / hw::page_size) + at % hw::page_size
			      : ring.bus + at;
	auto *entry = static_cast<hw::Le64 *>(world_.dma(bus, count * sizeof(u64)));

	if (!entry)
		return false;
	for (u32 i = 0; i < count; i++)
		if (i != valid_word)
			entry[i] = words[i];
	u64 last = words[valid_word].get() & ~(1ULL << 63);
	entry[valid_word].write_once(last | static_cast<u64>(ring.lap) << 63);
	if (++ring.next == ring.entries) {
		ring.next = 0;
		ring.lap = !ring.lap;
	}
	return true;
}

/* An armed CQ has something. */
void Engine::announce(CompletionQueue &cq)
{
	if (!cq.armed)
		return;
	cq.armed = false;
	completion_event(cq.ceq, cq.context);
}

bool Engine::complete(u32 number, hw::Cqe cqe)
{
	CompletionQueue &cq = cq_[number % max_cqs];
	auto *shadow = world_.dma_as<hw::CqShadow>(cq.shadow_bus);

	if (!EXPECT(cq.there) || !shadow)
		return false;
	if ((cq.ring.next + 1) % cq.ring.entries == shadow->get(hw::cq_shadow::consumer_index))
		return false;
	bool written = put(cq.ring, cqe.qw, 4, 3);
	if (!cq.solicited_only || cqe.get(hw::cqe::solicited) || cqe.get(hw::cqe::error))
		announce(cq);
	return written;
}

bool Engine::complete(u32 number, hw::Cqe cqe, hw::Cqe extended)
{
	CompletionQueue &cq = cq_[number % max_cqs];
	bool armed = cq.armed;

	cqe.set(hw::cqe::extended, 1);
	cq.armed = false;
	if (!complete(number, cqe) || !put(cq.ring, extended.qw, 4, 3))
		return false;
	cq.armed = armed;
	announce(cq);
	return true;
}

void Engine::arm(u32 number)
{
	CompletionQueue &cq = cq_[number % max_cqs];
	auto *shadow = world_.dma_as<hw::CqShadow>(cq.shadow_bus);

	if (!EXPECT(number < max_cqs && cq.there) || !shadow)
		return;
	u32 sequence = static_cast<u32>(shadow->get(hw::cq_shadow::arm_sequence));

	EXPECT_EQ(sequence, (cq.sequence + 1) % 4); /* another than the last time */
	cq.sequence = sequence;
	EXPECT(shadow->get(hw::cq_shadow::arm_next) || shadow->get(hw::cq_shadow::arm_solicited));
	cq.solicited_only = !shadow->get(hw::cq_shadow::arm_next);
	cq.armed = true;
	if (shadow->get(hw::cq_shadow::consumer_index) != cq.ring.next && !cq.stuck)
		announce(cq);
}

void Engine::raise(u32 vector)
{
	vector_waits_[vector] = true;
	world_.after(
		bus_delay,
		[](void *e, u64 v) { static_cast<Engine *>(e)->deliver(static_cast<u32>(v)); },
		this, vector);
}

/* It turns itself off when it fires. */
void Engine::deliver(u32 vector)
{
	if (gone || !vector_on_[vector] || !vector_waits_[vector])
		return;
	vector_on_[vector] = vector_waits_[vector] = false;
	world_.fire(vector - own_vectors);
}

void Engine::interrupt_ceq(u32 ceq)
{
	u32 cause = ceq_cause_[ceq];

	if (reg::cause_enable.take(cause))
		raise(static_cast<u32>(reg::cause_vector.take(cause)) % 64);
}

void Engine::completion_event(u32 ceq, u64 context, bool loud)
{
	hw::Ceqe entry;

	if (ceq >= max_ceqs || !ceq_[ceq])
		return;
	entry.set(hw::ceqe::context, context);
	put(ceq_[ceq], entry.qw, 1, 0);
	if (loud)
		interrupt_ceq(ceq);
}

void Engine::quiet_event(u32 code, hw::AeSource source, u32 id)
{
	u32 cause = aeq_cause_;

	aeq_cause_ = 0;
	event(code, source, id);
	aeq_cause_ = cause;
}

void Engine::event(u32 code, hw::AeSource source, u32 id, u32 wqe_index, bool overflow)
{
	namespace f = hw::aeqe;
	hw::Aeqe entry;

	if (!EXPECT(static_cast<bool>(aeq_)))
		return;
	entry.set(f::code, code);
	entry.set(f::source, static_cast<u64>(source));
	entry.set(f::id_low, id);
	entry.set(f::id_high, id >> 18);
	entry.set(f::wqe_index, wqe_index);
	entry.set(f::overflow, overflow);
	put(aeq_, entry.qw, 2, 1);
	if (reg::cause_enable.take(aeq_cause_))
		raise(static_cast<u32>(reg::cause_vector.take(aeq_cause_)) % 64);
}

u64 Engine::pble(u64 index) const
{
	u64 at = pble_base_ + index * hw::pble_bytes;
	u64 sd = segment(static_cast<u32>(at / hw::sd_bytes));
	auto *entry = sd ? world_.dma_as<hw::Le64>(sd + at % hw::sd_bytes) : nullptr;

	if (!sd)
		FAIL("PBLE %llu is looked for in a segment that is not backed", index);
	return entry ? entry->get() : 0;
}

u32 Engine::segments() const
{
	u32 n = 0;

	for (u32 i = 0; i < max_segments; i++)
		n += segment_[i] != 0;
	return n;
}

} // namespace irdma::fake
