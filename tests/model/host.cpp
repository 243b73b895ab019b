// SPDX-License-Identifier: GPL-2.0
/* The stand-in for QEMU; see host.h. */
#include "host.h"

#include <algorithm>
#include <cstring>
#include <utility>

int64_t host_time = 1;

struct e810_timer {
	e810_callback fn;
	void *opaque;
	int64_t expiry = INT64_MAX;
};

struct e810_bh {
	e810_callback fn;
	void *opaque;
	bool scheduled = false;
};

namespace {

std::vector<e810_timer *> timers;
std::vector<e810_bh *> deferred;

bool reachable(const e810_host *host, uint64_t addr, size_t len)
{
	constexpr uint64_t page = 4096;

	return addr <= e810_host::memory_bytes && len <= e810_host::memory_bytes - addr &&
	       (host->hole == UINT64_MAX || addr + len <= host->hole || addr >= host->hole + page);
}

} // namespace

void e810_host::settle()
{
	for (int round = 0; round < 4; round++) {
		for (e810_bh *bh : std::vector(deferred))
			if (std::exchange(bh->scheduled, false))
				bh->fn(bh->opaque);
		for (e810_timer *timer : std::vector(timers))
			if (timer->expiry <= host_time) {
				timer->expiry = INT64_MAX;
				timer->fn(timer->opaque);
			}
	}
}

bool e810_dma_read(e810_host *host, uint64_t addr, void *buf, size_t len)
{
	if (!reachable(host, addr, len))
		return false;
	size_t first = host->during_read && len > sizeof(uint64_t) ? len / 2 : len;
	std::memcpy(buf, host->memory.data() + addr, first);
	if (host->during_read)
		host->during_read(addr);
	std::memcpy(static_cast<uint8_t *>(buf) + first, host->memory.data() + addr + first,
		    len - first);
	return true;
}

bool e810_dma_write(e810_host *host, uint64_t addr, const void *buf, size_t len)
{
	if (!reachable(host, addr, len))
		return false;
	std::memcpy(host->memory.data() + addr, buf, len);
	return true;
}

void e810_msix_notify(e810_host *host, unsigned int vector)
{
	if (vector < host->messages.size())
		host->messages[vector]++;
}

void e810_msix_clear_pending(e810_host *, unsigned int) {}

bool e810_nic_send(e810_host *host, const void *frame, size_t len)
{
	auto *bytes = static_cast<const uint8_t *>(frame);

	if (host->keep_sent)
		host->sent.emplace_back(bytes, bytes + len);
	return !host->backend_full;
}

void e810_nic_receive_ready(e810_host *host)
{
	host->receive_ready++;
}

bool e810_link_is_up(e810_host *host)
{
	return host->link_up;
}

const uint8_t *e810_mac(e810_host *host)
{
	return host->mac;
}

unsigned int e810_vectors(e810_host *)
{
	return 96;
}

unsigned int e810_ceqs(e810_host *)
{
	return E810_MAX_CEQS;
}

const char *e810_trace_path(e810_host *host)
{
	return host->trace.empty() ? nullptr : host->trace.c_str();
}

const char *e810_fail_steps(e810_host *host)
{
	return host->fail.empty() ? nullptr : host->fail.c_str();
}

const char *e810_faults(e810_host *host)
{
	return host->fault.empty() ? nullptr : host->fault.c_str();
}

int64_t e810_now(void)
{
	return host_time;
}

e810_timer *e810_timer_new(e810_callback fn, void *opaque)
{
	return timers.emplace_back(new e810_timer{fn, opaque});
}

void e810_timer_free(e810_timer *timer)
{
	std::erase(timers, timer);
	delete timer;
}

void e810_timer_arm(e810_timer *timer, int64_t expiry)
{
	timer->expiry = expiry;
}

void e810_timer_cancel(e810_timer *timer)
{
	timer->expiry = INT64_MAX;
}

e810_bh *e810_bh_new(e810_callback fn, void *opaque)
{
	return deferred.emplace_back(new e810_bh{fn, opaque});
}

void e810_bh_free(e810_bh *bh)
{
	std::erase(deferred, bh);
	delete bh;
}

void e810_bh_schedule(e810_bh *bh)
{
	bh->scheduled = true;
}

void e810_bh_cancel(e810_bh *bh)
{
	bh->scheduled = false;
}

void e810_log_guest_error(const char *) {}
