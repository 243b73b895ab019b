// SPDX-License-Identifier: GPL-2.0
/*
 * Where traffic goes: the device's ARP table, address handles, multicast
 * groups, and the UDP source ports of paths (RoCEv2, IBA annex A17; the
 * kernel's rdma_get_udp_sport()).
 */
#include "fake/rig.h"
#include "hw/limits.h"

using namespace irdma;
using namespace irdma::fake;
using namespace irdma::test;

namespace {

struct ArpScene : Scene {
	ArpTable &arp() { return rig->device().arp; }
	/** The entry for a path by way of @ip, whose MAC it takes for @mac. */
	Result<ArpEntry> get(u32 ip, u64 mac, u16 vlan = SHIM_NO_VLAN, bool may_sleep = true,
			     bool ipv4 = true)
	{
		irdma_path path = KernelQp::default_path();

		path.next_hop[3] = ip;
		path.next_hop_ipv4 = ipv4;
		path.vlan = vlan;
		for (u32 i = 0; i < 6; i++)
			path.dmac[i] = static_cast<u8>(mac >> (40 - 8 * i));
		return arp().get(path, may_sleep);
	}
	void obey() { engine().on_command = {}; }
	u32 arps() { return engine().count(hw::CqpOp::manage_arp); }
};

constexpr u64 mac = 0x525400e81002;
constexpr u32 entries = 63; /* 64 offered, index 0 is not used */

/* ---- ARP table ---- */

/* Shares of one address are one entry; an unused one stays, without a command. */
void one_entry_for_an_address()
{
	ArpScene s;
	REQUIRE(s.ready);
	u16 index;

	{
		auto a = s.get(1, mac), b = s.get(1, mac);

		REQUIRE(a.ok() && b.ok());
		index = a.value().index();
		EXPECT(index != 0);
		EXPECT_EQ(b.value().index(), index);
		EXPECT_EQ(s.arps(), 1);
		EXPECT_EQ(s.engine().arp(index), mac);
		auto vlan = s.get(1, mac, 5); /* may be another machine */
		REQUIRE(vlan.ok());
		EXPECT(vlan.value().index() != index);
		/* ::1 is not 0.0.0.1. */
		auto other = s.get(1, mac, SHIM_NO_VLAN, true, false);
		REQUIRE(other.ok());
		EXPECT(other.value().index() != index);
		EXPECT_EQ(s.arps(), 3);
	}
	auto again = s.get(1, mac);
	EXPECT_EQ(again.value().index(), index);
	EXPECT_EQ(s.arps(), 3);
	/* Another MAC is told. */
	auto moved = s.get(1, mac + 1);
	EXPECT_EQ(moved.value().index(), index);
	EXPECT_EQ(s.engine().arp(index), mac + 1);
}

/* All entries in use: said. When one is given up the oldest unused makes way. */
void full_arp_table()
{
	ArpScene s;
	REQUIRE(s.ready);
	Many<ArpEntry, entries> held;

	for (u32 i = 0; i < entries; i++) {
		auto entry = s.get(0x100 + i, mac + i);

		REQUIRE(entry.ok());
		held[i] = entry.take();
		EXPECT_EQ(s.engine().arp(held[i].index()), mac + i);
	}
	EXPECT_EQ(s.get(0x999, mac).code(), -SHIM_ENOSPC);
	EXPECT(s.world().said("63 entries of the ARP table are in use"));
	u16 index = held[7].index();
	held[7].reset();
	auto entry = s.get(0x999, mac);
	REQUIRE(entry.ok());
	EXPECT_EQ(entry.value().index(), index);
	EXPECT_EQ(s.engine().arp(index), mac);
	auto old = s.get(0x107, mac); /* its place is gone */
	EXPECT_EQ(old.code(), -SHIM_ENOSPC);
	for (ArpEntry &e : held)
		e.reset();
}

/* Own addresses keep an entry each, but not from those that are sent to. */
void own_addresses_make_way()
{
	ArpScene s;
	REQUIRE(s.ready);
	irdma_l2_address own = {};

	own.ipv4 = true;
	own.vlan = SHIM_NO_VLAN;
	for (u32 i = 0; i <= entries; i++) { /* one more than there is room for */
		own.ip[3] = 0x100 + i;
		own.mac[5] = static_cast<u8>(i);
		irdma_own_address(s.rig->c(), &own, true);
	}
	EXPECT_EQ(s.arps(), entries + 1);
	auto other = s.get(0x999, mac);
	REQUIRE(other.ok());
	EXPECT_EQ(s.engine().arp(other.value().index()), mac);
	/* One that is sent to stays where it is. */
	own.ip[3] = 0x100 + entries;
	auto self = s.get(own.ip[3], mac);
	REQUIRE(self.ok());
	EXPECT_EQ(s.engine().arp(self.value().index()), entries);
	u16 index = self.value().index();
	Many<ArpEntry, entries> held;
	for (u32 i = 0; i < entries - 2; i++) {
		auto entry = s.get(0x2000 + i, mac);

		REQUIRE(entry.ok());
		held[i] = entry.take();
		EXPECT(held[i].index() != index);
	}
	EXPECT_EQ(s.get(0x3000, mac).code(), -SHIM_ENOSPC);
	/* Nothing of theirs is left when they go, twice too. */
	for (u32 i = 0; i <= entries; i++) {
		own.ip[3] = 0x100 + i;
		irdma_own_address(s.rig->c(), &own, false);
		irdma_own_address(s.rig->c(), &own, false);
	}
	for (ArpEntry &e : held)
		e.reset();
}

/* Random addresses come and go, against a plain list of what is held. */
void arp_against_a_reference()
{
	ArpScene s;
	REQUIRE(s.ready);
	constexpr u32 shares = 40;
	Many<ArpEntry, shares> held;
	static u32 address[shares];
	static u64 macs[100];
	Random random(5);

	for (u64 &m : macs)
		m = mac;
	for (u32 i = 0; i < 3000; i++) {
		u32 at = random.below(shares), ip = random.below(100);

		held[at].reset();
		if (random.below(4) == 0)
			macs[ip] = mac + random.below(1000);
		auto entry = s.get(1 + ip, macs[ip], ip % 3 ? SHIM_NO_VLAN : 7);
		if (!EXPECT(entry.ok()))
			return;
		held[at] = entry.take();
		address[at] = ip;
		EXPECT_EQ(s.engine().arp(held[at].index()), macs[ip]);
		for (u32 j = 0; j < shares; j++)
			if (held[j] &&
			    (held[j].index() == held[at].index()) != (address[j] == address[at]))
				return FAIL("addresses %u and %u", address[j], address[at]);
	}
	for (ArpEntry &e : held)
		e.reset();
}

/* A command that fails: the caller is told, the slot is what it was. */
void arp_commands_that_fail()
{
	ArpScene s;
	REQUIRE(s.ready);
	auto entry = s.get(1, mac);
	REQUIRE(entry.ok());
	u32 commands;

	s.refuse(hw::CqpOp::manage_arp);
	EXPECT_EQ(s.get(1, mac + 1).code(), -SHIM_EIO);
	EXPECT_EQ(s.get(2, mac).code(), -SHIM_EIO);
	s.arp().neighbour_changed({{{0, 0, 0, 1}, true}, 0}, mac + 2);
	EXPECT(s.world().said("does not follow"));
	s.obey();
	/* What the device has then is not known: it is told again, once. */
	commands = s.engine().commands;
	auto again = s.get(1, mac);
	EXPECT(again.ok());
	EXPECT_EQ(s.engine().commands, commands + 1);
	EXPECT_EQ(s.engine().arp(again.value().index()), mac + 2);
	EXPECT(s.get(1, mac).ok());
	EXPECT(s.get(2, mac).ok());
	EXPECT_EQ(s.engine().commands, commands + 2);
}

/* Whose word counts for the MAC: the kernel's neighbour before the path; then what it was. */
void neighbours_before_paths()
{
	ArpScene s;
	REQUIRE(s.ready);
	auto known = [](u32 ip) { return ip == 7 ? mac + 5 : u64{0}; };

	s.world().neighbour = known;
	auto a = s.get(7, mac), b = s.get(8, mac);
	REQUIRE(a.ok() && b.ok());
	EXPECT_EQ(s.engine().arp(a.value().index()), mac + 5);
	EXPECT_EQ(s.engine().arp(b.value().index()), mac);
	s.world().neighbour = {}; /* not valid at the moment */
	auto c = s.get(7, mac);
	EXPECT_EQ(s.engine().arp(c.value().index()), mac + 5);
	/* A group has none: its MAC is made of its address. */
	irdma_path path = KernelQp::default_path();
	path.multicast = true;
	path.next_hop[3] = 7;
	auto d = s.arp().get(path);
	EXPECT(d.ok());
	EXPECT_EQ(s.engine().arp(d.value().index()), 0x525400e81002);
}

void neighbours()
{
	ArpScene s;
	REQUIRE(s.ready);
	irdma_l2_address address = {};
	auto entry = s.get(0x0a000002, mac);
	REQUIRE(entry.ok());
	u16 index = entry.value().index();
	u32 commands = s.arps();

	address.ip[3] = 0x0a000002;
	address.ipv4 = true;
	address.vlan = SHIM_NO_VLAN;
	const u8 other[] = {1, 2, 3, 4, 5, 6};
	for (u32 i = 0; i < 6; i++)
		address.mac[i] = other[i];
	irdma_neighbour(s.rig->c(), &address);
	EXPECT_EQ(s.engine().arp(index), 0x010203040506);
	EXPECT_EQ(s.arps(), commands + 1);
	irdma_neighbour(s.rig->c(), &address); /* no news */
	address.ip[3]++;		       /* nobody sends there */
	irdma_neighbour(s.rig->c(), &address);
	address.ip[3]--;
	address.vlan = 9; /* another link */
	irdma_neighbour(s.rig->c(), &address);
	EXPECT_EQ(s.arps(), commands + 1);
}

/* The MAC changes while the device is told of the last one: what it gets last is the newest. */
void neighbour_that_changes_meanwhile()
{
	ArpScene s;
	REQUIRE(s.ready);
	auto entry = s.get(1, mac);
	REQUIRE(entry.ok());
	u32 n = 0;
	ArpScene *scene = &s;
	auto change = [&n, scene](const Command &c, Answer &) {
		/* Somebody else's path comes in between; it may not wait. */
		if (c.op == hw::CqpOp::manage_arp && n++ == 0)
			(void)scene->get(1, mac + 2, SHIM_NO_VLAN, false).ok();
	};

	s.engine().on_command = change;
	auto moved = s.get(1, mac + 1);
	EXPECT(moved.ok());
	s.obey();
	s.world().settle();
	EXPECT_EQ(s.engine().arp(entry.value().index()), mac + 2);
}

/* Our own addresses have an entry while they are there, and do not follow neighbours. */
void own_addresses()
{
	ArpScene s;
	REQUIRE(s.ready);
	irdma_l2_address address = {};

	address.ip[3] = 0x0a000001;
	address.ipv4 = true;
	address.vlan = SHIM_NO_VLAN;
	address.mac[5] = 9;
	irdma_own_address(s.rig->c(), &address, true);
	irdma_own_address(s.rig->c(), &address, true); /* twice does no harm */
	EXPECT_EQ(s.arps(), 1);
	EXPECT_EQ(s.engine().arp(1), 9);
	address.mac[5] = 10;
	irdma_neighbour(s.rig->c(), &address);
	EXPECT_EQ(s.engine().arp(1), 9);
	irdma_own_address(s.rig->c(), &address, false);
	irdma_own_address(s.rig->c(), &address, false);
	address.ip[3]++;
	irdma_own_address(s.rig->c(), &address, false); /* never was */
	/* When the table is full of own addresses, one more is not an error. */
	for (u32 i = 0; i < 70; i++) {
		address.ip[3] = 0x0b000000 + i;
		irdma_own_address(s.rig->c(), &address, true);
	}
	for (u32 i = 0; i < 70; i++) {
		address.ip[3] = 0x0b000000 + i;
		irdma_own_address(s.rig->c(), &address, false);
	}
	EXPECT(s.get(5, mac).ok());
}

/* ---- Address handles ---- */

struct Handles : Scene {
	irdma_pd *pd = nullptr;
	u32 pd_number = 0;

	Handles() { ready = ready && !irdma_pd_create(rig->c(), &pd, &pd_number); }
	~Handles()
	{
		if (pd)
			irdma_pd_destroy(pd);
	}
	int make(const irdma_path &path, irdma_ah *&ah, bool may_sleep = true, bool shared = false)
	{
		u32 number = 0;
		int err = irdma_ah_create(rig->c(), pd, &path, may_sleep, shared, &ah, &number);

		EXPECT(err || number);
		return err;
	}
};

void words_of_a_handle()
{
	for (u32 ipv4 = 0; ipv4 < 2; ipv4++)
		for (u32 vlan = 0; vlan < 2; vlan++)
			for (u32 tcs = 1; tcs < 3; tcs++) {
				Handles s;
				REQUIRE(s.ready);
				s.world().qos.num_tc = static_cast<u8>(tcs);
				irdma_after_tc_change(s.rig->c());
				irdma_path path = KernelQp::default_path();
				irdma_ah *ah = nullptr;

				path.ipv4 = ipv4;
				if (!ipv4)
					for (u32 i = 0; i < 4; i++) {
						path.dest_ip[i] = 0xfe800000 + i;
						path.src_ip[i] = 0xfe800010 + i;
					}
				path.traffic_class = 0x20;
				path.flow_label = 0xabcde;
				path.tos_priority = 3;
				path.vlan_egress[3] = 6;
				if (vlan)
					path.vlan = 100;
				REQUIRE(!s.make(path, ah));
				const Command &c = *s.engine().last_of(hw::CqpOp::create_ah);
				bool tagged = vlan || tcs > 1;
				EXPECT_EQ(c.get(hw::cqp_ah::src_mac), 0x525400e81001);
				EXPECT_EQ(c.get(hw::cqp_ah::pd), s.pd_number);
				EXPECT_EQ(c.get(hw::cqp_ah::ipv4), ipv4);
				EXPECT_EQ(c.get(hw::cqp_ah::hop_limit), 64);
				EXPECT_EQ(c.get(hw::cqp_ah::traffic_class), 0x20);
				EXPECT_EQ(c.get(hw::cqp_ah::flow_label), 0xabcde);
				EXPECT_EQ(c.get(hw::cqp_ah::dest_ip3), path.dest_ip[3]);
				EXPECT_EQ(c.get(hw::cqp_ah::dest_ip0), path.dest_ip[0]);
				EXPECT_EQ(c.get(hw::cqp_ah::src_ip3), path.src_ip[3]);
				EXPECT_EQ(c.get(hw::cqp_ah::src_ip0), path.src_ip[0]);
				EXPECT_EQ(c.get(hw::cqp_ah::loopback), 0);
				EXPECT_EQ(c.get(hw::cqp_ah::insert_vlan), tagged);
				EXPECT_EQ(c.get(hw::cqp_ah::vlan_tag), !tagged ? 0
								       : vlan  ? 100 | 6u << 13
									       : 3u << 13);
				EXPECT_EQ(s.engine().arp(
						  static_cast<u32>(c.get(hw::cqp_ah::arp_index))),
					  0x525400e81002);
				irdma_ah_destroy(ah, true);
			}
	/* Traffic for ourselves, and for groups, comes back. */
	Handles s;
	REQUIRE(s.ready);
	irdma_path path = KernelQp::default_path();
	irdma_ah *ah = nullptr;

	path.dest_ip[3] = path.src_ip[3];
	REQUIRE(!s.make(path, ah));
	EXPECT_EQ(s.engine().last_of(hw::CqpOp::create_ah)->get(hw::cqp_ah::loopback), 1);
	irdma_ah_destroy(ah, true);
	path.dest_ip[3] = 0xe0000001;
	path.multicast = true;
	REQUIRE(!s.make(path, ah));
	EXPECT_EQ(s.engine().last_of(hw::CqpOp::create_ah)->get(hw::cqp_ah::loopback), 1);
	irdma_ah_destroy(ah, true);
}

/* With interrupts off: completions of the control QP are taken by polling. */
void handles_without_sleep()
{
	Handles s;
	REQUIRE(s.ready);
	irdma_path path = KernelQp::default_path();
	irdma_ah *ah = nullptr;

	s.world().interrupts++;
	EXPECT_EQ(s.make(path, ah, false), 0);
	irdma_ah_destroy(ah, false);
	s.world().interrupts--;
	s.world().settle();
	EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_ah), 1);
	s.refuse(hw::CqpOp::create_ah);
	EXPECT_EQ(s.make(path, ah, false), -SHIM_EIO);
	EXPECT_EQ(s.make(path, ah), -SHIM_EIO);
	s.obey();
	/* Too slow: given up after a tenth of a second, freed when the answer comes. */
	auto slow = [](const Command &c, Answer &a) {
		if (c.op == hw::CqpOp::create_ah)
			a.delay = World::second;
	};
	s.engine().on_command = slow;
	u64 start = s.world().now();
	EXPECT_EQ(s.make(path, ah, false), -SHIM_ETIMEDOUT);
	EXPECT(s.world().now() - start <= 200 * World::ms);
	u32 lost = static_cast<u32>(s.engine().last_of(hw::CqpOp::create_ah)->get(hw::cqp_ah::ah));
	s.world().pass(2 * World::second);
	s.obey();
	/* Its number is not used again, since the device has the handle. */
	for (u32 i = 0; i < 62; i++) {
		EXPECT_EQ(s.make(path, ah), 0);
		irdma_ah_destroy(ah, true);
	}
	s.engine().forget_ah(lost);
}

/* The ring is full when it is to be destroyed without sleeping: it goes once there is room. */
void handle_that_must_wait()
{
	for (u32 removal = 0; removal < 2; removal++) {
		Handles s;
		REQUIRE(s.ready);
		auto buffer = DmaBuffer::create(s.world().shim(), 1024);
		auto silent = [](const Command &, Answer &a) { a.silent = true; };
		auto answer = [](void *engine, u64 slot) {
			static_cast<Engine *>(engine)->stray_answer(static_cast<u32>(slot), 0);
		};
		irdma_ah *ah = nullptr;

		REQUIRE(buffer.ok() && !s.make(KernelQp::default_path(), ah));
		const cmd::GatherStats gather{.buffer = buffer.value().bus()};
		u32 number = static_cast<u32>(
			s.engine().last_of(hw::CqpOp::create_ah)->get(hw::cqp_ah::ah));
		s.engine().on_command = silent;
		REQUIRE(s.rig->device().cqp.post(gather).ok());
		s.world().settle();
		s.obey();
		u32 slot = s.engine().last().index;
		for (u32 i = 0; i < 2047; i++)
			REQUIRE(s.rig->device().cqp.run(gather).ok());

		s.world().interrupts++;
		irdma_ah_destroy(ah, false);
		s.world().interrupts--;
		EXPECT(s.engine().has_ah(number));
		s.world().after(World::ms, answer, &s.engine(), slot);
		if (removal) {
			irdma_pd_destroy(s.pd);
			s.pd = nullptr;
			s.rig->stop();
		}
		s.world().settle();
		EXPECT(!s.engine().has_ah(number));
		EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_ah), 1);
	}
}

/* Equal paths of processes share one handle of the device; it goes with the last. */
void shared_handles()
{
	Handles s;
	REQUIRE(s.ready);
	irdma_path path = KernelQp::default_path();
	irdma_ah *one = nullptr, *same = nullptr, *other = nullptr;

	EXPECT_EQ(s.make(path, one, true, true), 0);
	EXPECT_EQ(s.make(path, same, true, true), 0);
	EXPECT(one == same);
	path.traffic_class = 4;
	EXPECT_EQ(s.make(path, other, true, true), 0);
	EXPECT(other != one);
	EXPECT_EQ(s.engine().count(hw::CqpOp::create_ah), 2);
	irdma_ah_destroy(one, true);
	EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_ah), 0);
	irdma_ah_destroy(same, true);
	EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_ah), 1);
	irdma_ah_destroy(other, true);
	s.refuse(hw::CqpOp::create_ah);
	EXPECT_EQ(s.make(path, one, true, true), -SHIM_EIO);
	s.obey();
	EXPECT_EQ(s.make(path, one, true, true), 0);
	irdma_ah_destroy(one, true);
}

void handles_that_stay()
{
	Handles s;
	REQUIRE(s.ready);
	irdma_path path = KernelQp::default_path();
	irdma_ah *ah = nullptr;

	EXPECT_EQ(s.make(path, ah), 0);
	s.refuse(hw::CqpOp::destroy_ah);
	irdma_ah_destroy(ah, true);
	s.obey();
	EXPECT_EQ(s.make(path, ah), 0);
	s.refuse(hw::CqpOp::destroy_ah);
	irdma_ah_destroy(ah, false);
	s.world().settle();
	s.obey();
	u32 made = 0;
	static irdma_ah *handles[64];
	while (made < 64 && !s.make(path, handles[made]))
		made++;
	EXPECT_EQ(made, 61); /* 64 offered, 0 is none, two are lost */
	while (made)
		irdma_ah_destroy(handles[--made], true);
	s.engine().forget_ah(1);
	s.engine().forget_ah(2);
}

void handles_of_a_dead_device()
{
	Handles s;
	REQUIRE(s.ready);
	irdma_path path = KernelQp::default_path();
	irdma_ah *ah = nullptr, *other = nullptr;

	EXPECT_EQ(s.make(path, ah), 0);
	EXPECT_EQ(s.make(path, other), 0);
	s.rig->device().declare_dead("for a test");
	irdma_ah *third = nullptr;
	EXPECT_EQ(s.make(path, third), -SHIM_ENODEV);
	EXPECT_EQ(s.make(path, third, false), -SHIM_ENODEV);
	irdma_ah_destroy(ah, true);
	irdma_ah_destroy(other, false);
}

void handles_without_memory()
{
	bool any = true;

	for (u32 nth = 1; any && nth < 20; nth++)
		for (u32 sleep = 0; sleep < 2; sleep++) {
			Handles s;
			REQUIRE(s.ready);
			irdma_ah *ah = nullptr;

			s.world().fail_allocation(nth);
			int err = s.make(KernelQp::default_path(), ah, sleep);
			EXPECT(!err || err == -SHIM_ENOMEM);
			any = s.world().allocation_failed();
			s.world().fail_allocation(0);
			if (!err)
				irdma_ah_destroy(ah, true);
		}
	EXPECT(!any);
}

/* ---- Multicast ---- */

struct Groups : Scene {
	static constexpr u32 members = 9;
	KernelQp *qps[members] = {};
	alignas(8) u8 room[members][sizeof(KernelQp)];
	u32 ip[4] = {0, 0, 0, 0xe0000105};
	u8 group_mac[6] = {1, 0, 0x5e, 0, 1, 5};

	Groups()
	{
		for (u32 i = 0; ready && i < members; i++) {
			qps[i] = new (room[i]) KernelQp(*rig, SHIM_QPT_UD);
			ready = qps[i]->made;
		}
	}
	~Groups()
	{
		for (KernelQp *qp : qps)
			if (qp)
				qp->~KernelQp();
	}
	int attach(u32 i) { return irdma_mcast_attach(rig->c(), qps[i]->qp, ip, true, group_mac); }
	int detach(u32 i) { return irdma_mcast_detach(rig->c(), qps[i]->qp, ip, true); }
};

void groups_and_members()
{
	Large<Groups> g;
	Groups &s = *g;
	REQUIRE(s.ready);

	EXPECT_EQ(s.detach(0), -SHIM_EINVAL); /* no such group */
	for (u32 i = 0; i < 8; i++)
		EXPECT_EQ(s.attach(i), 0);
	EXPECT_EQ(s.attach(3), 0); /* by another LID */
	EXPECT_EQ(s.detach(3), 0); /* it is still there */
	EXPECT_EQ(s.attach(8), -SHIM_ENOSPC);
	EXPECT_EQ(s.detach(8), -SHIM_EINVAL);
	EXPECT_EQ(s.engine().count(hw::CqpOp::create_mcast), 1);
	EXPECT_EQ(s.engine().count(hw::CqpOp::modify_mcast), 7);
	const Command &c = *s.engine().last_of(hw::CqpOp::create_mcast);
	EXPECT_EQ(c.get(hw::cqp_mcast::mac), 0x01005e000105);
	EXPECT_EQ(c.get(hw::cqp_mcast::dest_ip3), 0xe0000105);
	EXPECT_EQ(c.get(hw::cqp_mcast::ipv4), 1);
	EXPECT(c.get(hw::cqp_mcast::qs_handle) != 0);
	EXPECT_EQ(s.detach(0), 0);
	EXPECT_EQ(s.attach(8), 0);
	for (u32 i = 1; i < 9; i++)
		EXPECT_EQ(s.detach(i), 0);
	EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_mcast), 1);
	/* A QP that goes leaves its groups; IPv6 is another group than IPv4. */
	EXPECT_EQ(s.attach(0), 0);
	EXPECT_EQ(s.attach(1), 0);
	EXPECT_EQ(irdma_mcast_attach(s.rig->c(), s.qps[0]->qp, s.ip, false, s.group_mac), 0);
	EXPECT_EQ(s.engine().count(hw::CqpOp::create_mcast), 3);
	irdma_qp_destroy(s.qps[0]->qp, false);
	s.qps[0]->qp = nullptr;
	EXPECT_EQ(s.engine().count(hw::CqpOp::destroy_mcast), 2);
	EXPECT_EQ(s.detach(1), 0);
}

void group_commands_that_fail()
{
	Large<Groups> g;
	Groups &s = *g;
	REQUIRE(s.ready);

	s.refuse(hw::CqpOp::create_mcast);
	EXPECT_EQ(s.attach(0), -SHIM_EIO);
	s.obey();
	EXPECT_EQ(s.attach(0), 0);
	s.refuse(hw::CqpOp::modify_mcast);
	EXPECT_EQ(s.attach(1), -SHIM_EIO);
	s.obey();
	EXPECT_EQ(s.detach(1), -SHIM_EINVAL); /* it did not become one */
	EXPECT_EQ(s.attach(1), 0);
	s.refuse(hw::CqpOp::modify_mcast);
	EXPECT_EQ(s.detach(1), 0); /* goes, whatever the device says */
	s.obey();
	/* A group that stays keeps its number and memory. */
	s.refuse(hw::CqpOp::destroy_mcast);
	u32 buffers = s.world().dma_buffers();
	EXPECT_EQ(s.detach(0), 0);
	EXPECT_EQ(s.world().dma_buffers(), buffers);
	s.obey();
	EXPECT_EQ(s.attach(0), 0);
	EXPECT(s.engine().last_of(hw::CqpOp::create_mcast)->get(hw::cqp_mcast::group) != 2);
	EXPECT_EQ(s.detach(0), 0);
	for (u32 i = 1; i < 4; i++)
		s.engine().forget_group(i);
}

/* A QP that could not be made, at whichever allocation, is in no group and changes none. */
void groups_and_a_qp_that_could_not_be_made()
{
	Large<Groups> g;
	Groups &s = *g;
	REQUIRE(s.ready);
	bool any = true;

	EXPECT_EQ(s.attach(0), 0);
	for (u32 nth = 1; any && nth < 50; nth++) {
		s.world().fail_allocation(nth);
		{
			KernelQp qp(*s.rig, SHIM_QPT_UD);
		}
		any = s.world().allocation_failed();
		s.world().fail_allocation(0);
		EXPECT_EQ(s.engine().count(hw::CqpOp::modify_mcast), 0);
	}
	EXPECT(!any);
	EXPECT_EQ(s.detach(0), 0);
}

void groups_of_a_dead_device()
{
	Large<Groups> g;
	Groups &s = *g;
	REQUIRE(s.ready);
	auto silent = [](const Command &c, Answer &a) {
		a.silent = c.op == hw::CqpOp::create_mcast;
	};

	EXPECT_EQ(s.attach(0), 0);
	s.ip[3]++;
	s.engine().on_command = silent;
	EXPECT_EQ(s.attach(1), -SHIM_ENODEV);
	s.ip[3]--;
	EXPECT_EQ(s.attach(2), -SHIM_ENODEV);
	EXPECT_EQ(s.detach(0), 0);
}

/* ---- UDP source ports ---- */

/*
 * RoCEv2: the dynamic ports, chosen by the flow label; without one by both QP numbers, so that
 * the QPs of two hosts spread over a network's links. The low 14 bits of the label, mixed with
 * its upper 6.
 */
void udp_source_ports()
{
	Random random(9);
	u32 distinct = 0;
	static bool seen[0x10000];

	for (bool &b : seen)
		b = false;
	for (u32 i = 0; i < 2000; i++) {
		u32 label = random.next() & 0xfffff, own = random.below(1 << 24),
		    dest = random.below(1 << 24);
		u16 port = bridge_udp_sport(label, own, dest);

		EXPECT(port >= 0xc000);
		if (label)
			EXPECT_EQ(port, 0xc000 | ((label & 0x3fff) ^ (label >> 14)));
		/* Without a label it depends on both numbers, and always in the same way. */
		u16 hashed = bridge_udp_sport(0, own, dest);
		EXPECT(hashed >= 0xc000);
		EXPECT_EQ(hashed, bridge_udp_sport(0, own, dest));
		EXPECT_EQ(hashed, bridge_udp_sport(0, dest, own));
		distinct += !seen[hashed];
		seen[hashed] = true;
	}
	EXPECT(distinct > 1500); /* of 2000 into 16384 */
}

/* The port of a path is the path's: set with it, and left alone by other changes. */
void port_of_a_path()
{
	ArpScene s;
	REQUIRE(s.ready);
	KernelQp qp(*s.rig);
	REQUIRE(qp.bring_up(SHIM_QPS_RTR));
	auto port = [&] { return s.engine().qp(qp.number()).context.get(hw::qpc::src_port); };

	EXPECT_EQ(port(), 0xd234);
	REQUIRE(!qp.modify(SHIM_QPS_RTS));
	EXPECT_EQ(port(), 0xd234);
	REQUIRE(!qp.modify(SHIM_QPS_SQD));
	irdma_qp_change change = qp.change_to(SHIM_QPS_SQD);
	change.mask |= SHIM_QP_AV;
	change.udp_src_port_hint = 0xc777;
	EXPECT_EQ(irdma_qp_modify(qp.qp, &change), 0);
	EXPECT_EQ(port(), 0xc777);
	REQUIRE(!qp.modify(SHIM_QPS_ERR));
	REQUIRE(!qp.modify(SHIM_QPS_RESET));
	REQUIRE(!qp.modify(SHIM_QPS_INIT));
	EXPECT_EQ(port(), 0xc000); /* of a new QP */
}

constexpr bridge_case cases[] = {
	TEST(one_entry_for_an_address),
	TEST(full_arp_table),
	TEST(own_addresses_make_way),
	TEST(arp_against_a_reference),
	TEST(arp_commands_that_fail),
	TEST(neighbours_before_paths),
	TEST(neighbours),
	TEST(neighbour_that_changes_meanwhile),
	TEST(own_addresses),
	TEST(words_of_a_handle),
	TEST(handles_without_sleep),
	TEST(handle_that_must_wait),
	TEST(shared_handles),
	TEST(handles_that_stay),
	TEST(handles_of_a_dead_device),
	TEST(handles_without_memory),
	TEST(groups_and_members),
	TEST(group_commands_that_fail),
	TEST(groups_and_a_qp_that_could_not_be_made),
	TEST(groups_of_a_dead_device),
	TEST(udp_source_ports),
	TEST(port_of_a_path),
};

} // namespace

SUITE(addresses, cases)
