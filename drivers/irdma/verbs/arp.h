// SPDX-License-Identifier: GPL-2.0
/*
 * The device's ARP table: destination MAC by index, for QP contexts and
 * address handles. An entry is shared by all that send to one address, counted,
 * and follows the kernel's neighbour.
 */
#ifndef IRDMA_VERBS_ARP_H
#define IRDMA_VERBS_ARP_H

#include "../base/lock.h"
#include "../base/memory.h"
#include "../base/net.h"
#include "../base/result.h"

namespace irdma {

class ArpTable;
class Device;

/** Owner of a share in an entry. */
class ArpEntry {
public:
	ArpEntry() = default;
	ArpEntry(ArpEntry &&other);
	ArpEntry &operator=(ArpEntry &&other);
	~ArpEntry();

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
	void destroy();

	/**
	 * The entry of @ip with @mac, made or brought up to date if need be. May sleep if
	 * @may_sleep; otherwise the command is posted and not waited for.
	 *
	 * Return: Error::no_space when the table is full, which is said once.
	 */
	Result<ArpEntry> get(const IpAddress &ip, u64 mac, bool may_sleep = true);

	/** A neighbour has changed: bring its entry up to date, if there is one. Any context. */
	void neighbour_changed(const IpAddress &ip, u64 mac);

private:
	friend class ArpEntry;
	void put(u16 index);

	Device &device_;
	struct State; /* in arp.cpp */
	Owner<State> state_;
};

} // namespace irdma

#endif
