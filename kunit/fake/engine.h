// SPDX-License-Identifier: GPL-2.0
/*
 * A protocol engine of few words, below the driver's registers and DMA memory:
 * control QP with its CCQ, event queues, and what commands make of objects.
 *
 * It is obedient: each command is carried out and answered after a microsecond.
 * A test makes it slow, failing or lying with on_command, which sees each
 * command before it is carried out and may change the answer.
 *
 * It checks what it is handed: addresses in DMA memory, polarity, bits that no
 * field has, numbers of objects that are there or are not. What is wrong fails
 * the test. It knows nothing of packets: completions are what a test posts.
 */
#ifndef KUNIT_FAKE_ENGINE_H
#define KUNIT_FAKE_ENGINE_H

#include "hw/cqe.h"
#include "hw/cqp.h"
#include "hw/eq.h"
#include "hw/hmc.h"
#include "hw/limits.h"
#include "hw/qp_context.h"
#include "hw/stats.h"
#include "world.h"

namespace irdma::fake {

/** A command as the engine has fetched it. */
struct Command {
	hw::CqpOp op;
	u32 index; /**< in the ring */
	hw::CqpWqe wqe;

	u64 get(const hw::Field &field) const { return wqe.get(field); }
};

/** How it is answered. */
struct Answer {
	bool carry_out = true; /**< else the objects stay as they are */
	bool silent = false;   /**< never answered */
	bool error = false;
	u16 major = 0, minor = 0;
	u32 value = 0;
	u64 delay = World::us;
	u32 copies = 1;
	/* The lies, in the CCQ only. */
	u32 index = 0;
	u64 cookie_flip = 0;
	bool no_interrupt = false;
	bool stale = false; /**< with the valid bit of the lap before */

	void fail(u16 new_major, u16 new_minor)
	{
		carry_out = false;
		error = true;
		major = new_major;
		minor = new_minor;
	}
};

/** A queue that the engine writes: entries with a valid bit that toggles with each lap. */
struct Ring {
	u64 bus = 0;
	bool listed = false; /**< its pages are those of PBLEs, from first_pble on */
	u32 first_pble = 0;
	u32 entries = 0, next = 0;
	bool lap = true;

	explicit operator bool() const { return entries; }
};

class Engine final : public Registers {
public:
	explicit Engine(World &world);
	~Engine();

	u32 read(u32 offset) override;
	void write(u32 offset, u32 value) override;

	/* ---- What it is like ---- */
	/** Called before a command is carried out. */
	Callback<void(const Command &command, Answer &answer)> on_command;
	/** It is off the bus: registers read all ones, nothing is answered. */
	bool gone = false;
	/** It is being reset by others. */
	bool resetting = false;
	u32 cpu_status = 0x80;
	u32 doorbell_code = 2;
	u32 critical_error = 0;
	/** The control QP: never up, refused, or up. */
	enum class Start : u8 { up, never, refused } start = Start::up;
	bool stays_up = false; /**< does not let go of the control QP */
	bool suspends = true;  /**< tells when a QP that is suspended, or in SQD, stands still */
	/** Rings lie in DMA memory; not so those of processes. */
	bool strict_memory = true;
	hw::FpmBuffer fpm; /**< answer of QUERY_FPM */
	/** In it, how many objects of a kind there may be, and how large one is. */
	void offer(hw::HmcObject kind, u32 count)
	{
		offer_word(kind, count, 0xffffffff00000000ULL);
	}
	void offer_size(hw::HmcObject kind, u64 size) { offer_word(kind, size << 32, 0xffffffff); }
	/** Changes the answer of COMMIT_FPM. */
	Callback<void(hw::FpmBuffer &answer)> on_commit;
	hw::Le64 features[27] = {};
	hw::Statistics statistics = {};

	/** The function was reset: control QP and objects are gone. */
	void reset();

	/* ---- What it has seen ---- */
	u32 commands = 0;
	u32 count(hw::CqpOp op) const { return counts_[static_cast<u32>(op)]; }
	/** The last commands; 0 is the newest. */
	const Command &last(u32 back = 0) const { return history_[(commands - 1 - back) % kept]; }
	/** The newest of a kind; nullptr if it is not among those kept. */
	const Command *last_of(hw::CqpOp op) const;
	u32 last_write(u32 offset) const;
	u32 writes(u32 offset) const;
	u32 aeqes_given_back = 0;
	u32 doorbells = 0;     /**< for work */
	u32 last_doorbell = 0; /**< number of the QP */

	/* ---- Objects ---- */
	struct QueuePair {
		bool there;
		bool kept; /**< it has refused to give it up */
		hw::QpState state;
		hw::QpType type;
		u64 context_bus, shadow_bus;
		hw::QpContext context; /**< as last read */
	};
	struct CompletionQueue {
		bool there, armed, solicited_only, check_overflow;
		bool stuck; /**< behind an entry that the driver cannot see */
		u32 ceq, size, sequence;
		u64 context, shadow_bus;
		Ring ring;
	};
	struct Node {
		bool there, leaf, enabled;
		u32 parent;
		u8 tc;
	};
	static constexpr u32 max_qps = 256, max_cqs = 512, max_ceqs = 16, max_arps = 256;
	static constexpr u32 max_stags = 2048, max_ahs = 256, max_groups = 64, max_nodes = 1024;
	static constexpr u32 max_segments = 4096;

	QueuePair &qp(u32 number) { return qp_[number % max_qps]; }
	CompletionQueue &cq(u32 number) { return cq_[number % max_cqs]; }
	u64 arp(u32 index) const { return arp_[index % max_arps]; }
	bool has_stag(u32 index) const { return stag_[index % max_stags]; }
	bool has_ah(u32 index) const { return ah_[index % max_ahs]; }
	bool has_group(u32 index) const { return group_[index % max_groups]; }
	bool has_node(u32 index) const { return node_[index % max_nodes].there; }
	bool has_ceq(u32 number) const { return number < max_ceqs && ceq_[number]; }
	bool has_aeq() const { return static_cast<bool>(aeq_); }
	/** Objects that the driver has given up, and does not destroy; all of them. */
	void forget_objects();
	void forget_ah(u32 index) { ah_[index % max_ahs] = false; }
	void forget_group(u32 index) { group_[index % max_groups] = false; }
	void forget_nodes()
	{
		for (u32 i = 0; i < max_nodes; i++)
			node_[i] = {};
	}
	void forget_stag(u32 index) { stag_[index % max_stags] = false; }
	u64 segment(u32 index) const { return segment_[index % max_segments]; }
	/** What PBLE @index holds; 0, said, if there is none. */
	u64 pble(u64 index) const;
	u32 segments() const;
	bool has_cqp() const { return cqp_; }
	u64 cqp_ring() const { return ring_bus_; }
	/** How many QPs, CQs but the CCQ, STags, AHs, groups and nodes there are. */
	u32 objects() const;

	/* ---- What it does by itself ---- */
	/** Write a completion to a CQ; false if its ring is full. */
	bool complete(u32 cq, hw::Cqe cqe);
	/** The same, with the extended entry that follows. */
	bool complete(u32 cq, hw::Cqe cqe, hw::Cqe extended);
	/** Write an asynchronous event, and interrupt. */
	void event(u32 code, hw::AeSource source, u32 id, u32 wqe_index = 0, bool overflow = false);
	/** The same without an interrupt. */
	void quiet_event(u32 code, hw::AeSource source, u32 id);
	/** Write an entry to a CEQ, and interrupt if @loud. */
	void completion_event(u32 ceq, u64 context, bool loud = true);
	/** Write an answer to the CCQ that answers nothing. */
	void stray_answer(u32 index, u64 cookie_flip);
	/** The interrupt of a CEQ. */
	void interrupt_ceq(u32 ceq);

private:
	static constexpr u32 kept = 64, kept_writes = 64;

	void write_context();
	void doorbell(u32 head);
	void fetch();
	void check_reserved(const Command &command);
	void execute(const Command &command);
	void answer(const Command &command, const Answer &answer);
	void answer_now(u32 slot);
	void write_ccq(const Answer &answer);
	void arm(u32 cq);
	void raise(u32 vector);
	void deliver(u32 vector);
	bool put(Ring &ring, const hw::Le64 *words, u32 count, u32 valid_word);
	void announce(CompletionQueue &cq);

	/* objects.cpp */
	void carry_out(const Command &command, Answer &answer);
	void create_qp(const Command &command);
	void modify_qp(const Command &command);
	void destroy_qp(const Command &command);
	bool read_qp(const Command &command, QueuePair &qp);
	void check_queue(const Command &command, u64 address, u64 bytes);
	void create_cq(const Command &command);
	void read_cq(const Command &command, CompletionQueue &cq);
	void modify_cq(const Command &command);
	void destroy_cq(const Command &command);
	void create_ceq(const Command &command);
	void stag(const Command &command, bool made);
	void address_handle(const Command &command, bool made);
	void group(const Command &command, u32 change);
	void update_segments(const Command &command);
	void set_segment(u64 command, u64 data);
	void offer_word(hw::HmcObject kind, u64 bits, u64 keep);
	void query_fpm(const Command &command);
	void commit_fpm(const Command &command);
	u32 work_node(const Command &command);
	void suspend(const Command &command);

	World &world_;
	/* Control QP. */
	bool cqp_ = false, refused_ = false;
	u64 cookie_ = 0, ring_bus_ = 0;
	u32 context_high_ = 0;
	u32 head_ = 0, tail_ = 0, told_tail_ = 0;
	bool lap_ = true, tail_error_ = false;
	u32 error_codes_ = 0;
	struct Pending {
		bool used;
		Command command;
		Answer answer;
	};
	static constexpr u32 max_pending = 2304;
	Pending *pending_ = nullptr;

	Command history_[kept] = {};
	u32 counts_[hw::cqp_opcodes] = {};
	struct {
		u32 offset, value;
	} written_[kept_writes] = {};
	u32 write_count_ = 0;

	u32 ceq_cause_[max_ceqs] = {};
	u32 aeq_cause_ = 0;
	bool vector_on_[64] = {}, vector_waits_[64] = {};
	Ring ceq_[max_ceqs], aeq_;

	QueuePair *qp_ = nullptr;
	CompletionQueue *cq_ = nullptr;
	u64 arp_[max_arps] = {};
	bool stag_[max_stags] = {};
	bool ah_[max_ahs] = {};
	bool group_[max_groups] = {};
	Node *node_ = nullptr;
	u64 *segment_ = nullptr;
	u64 pble_base_ = 0; /**< where the PBLEs lie in the FPM */
};

} // namespace irdma::fake

#endif
