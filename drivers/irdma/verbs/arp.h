// SPDX-License-Identifier: GPL-2.0
/*
 * The device's ARP table: destination MAC by index, for QP contexts and
 * address handles. An entry stands for the next hop of paths: the address itself on
 * the link, else a gateway. It is shared by all that send there, counted, and follows
 * the kernel's neighbour. The same address in two VLANs may be two machines
 * (link-local addresses often are), and has two entries.
 *
 * Whose word counts for the MAC, in this order: for an own address the netdev's;
 * the kernel's neighbour, looked up with the table's lock held, which the news of its
 * next change waits for; what it was when it was valid last; the path's, which may
 * have been resolved long ago.
 *
 * An entry that nobody uses stays, and serves the next connection to that
 * address without a command; the oldest of them makes way when the table is
 * full. Commands of the control QP are begun in the order in which they are
 * posted, so a command posted after MANAGE_ARP finds the entry in place.
 */
#ifndef IRDMA_VERBS_ARP_H
#define IRDMA_VERBS_ARP_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/net.h"
#include "../base/result.h"
#include "driver.h"

namespace irdma {

class ArpTable;
class Device;
struct ArpSlot;

/** What an entry is found by. */
struct ArpKey {
	IpAddress ip;
	u16 vlan; /**< 0: none */

	constexpr bool operator==(const ArpKey &) const = default;
};

/** The key for an address in a VLAN, or with SHIM_NO_VLAN in none; words as in irdma_path. */
constexpr ArpKey arp_key(const u32 (&ip)[4], bool ipv4, u16 vlan)
{
	return {{{ip[0], ip[1], ip[2], ip[3]}, ipv4}, vlan == SHIM_NO_VLAN ? u16{0} : vlan};
}

/** The key for where a path's packets go first. */
constexpr ArpKey arp_key(const irdma_path &path)
{
	return arp_key(path.next_hop, path.next_hop_ipv4, path.vlan);
}

/** Owner of a share in an entry. Any context. */
class ArpEntry {
public:
	ArpEntry() = default;
	ArpEntry(ArpEntry &&other);
	ArpEntry &operator=(ArpEntry &&other);
	~ArpEntry() { reset(); }

	/** Give the share back. */
	void reset();

	explicit operator bool() const { return table_; }
	/** For QP contexts and address handles. */
	u16 index() const { return index_; }

private:
	friend class ArpTable;
	ArpTable *table_ = nullptr;
	u16 index_ = 0;
};

class ArpTable {
public:
	explicit ArpTable(Device &device);
	~ArpTable();

	/** Room for the HMC's number of entries. May sleep. */
	Status create();
	/** No share is left. */
	void destroy();

	/**
	 * The entry of @path's next hop, made or brought up to date if need be. Sleeps only if
	 * @may_sleep.
	 *
	 * Return: Error::no_space when all entries are in use, which is said; or the
	 * command's error.
	 */
	Result<ArpEntry> get(const irdma_path &path, bool may_sleep = true);

	/** A neighbour has changed: bring its entry up to date, if there is one. May sleep. */
	void neighbour_changed(const ArpKey &key, u64 mac);

	/**
	 * An address of our own came or went: it has an entry as long as it is there, unless the
	 * table is full and others need its place. May sleep.
	 */
	void own_address(const ArpKey &key, u64 mac, bool present);

	/** The entries that hold an address, for debugfs. Any context. */
	void show(shim_text *text) const;

private:
	friend class ArpEntry;
	struct State; /* in arp.cpp */
	ArpEntry share(const ArpKey &key);
	void put(u16 index);
	u64 mac_for(ArpSlot &slot, const irdma_path &path) const;
	Status no_space() const;
	Status bring_up_to_date(u16 index, bool may_sleep);
	Status write_entry(u16 index, u64 mac, bool may_sleep);
	void trace(u16 index, u64 mac, Status written) const;

	Device &device_;
	Owner<State> state_;
};

} // namespace irdma

#endif
