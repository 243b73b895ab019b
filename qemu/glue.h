/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between QEMU and the modelled E810.
 *
 * QEMU's headers are C only, so glue.c is the one file that includes them. It owns the QOM object,
 * PCI configuration space, MSI-X and the network backend, and lends them through the functions
 * below. The device itself is C++ (device.h) and is driven through the e810_device_* entry points.
 *
 * Everything here runs with QEMU's global lock held; nothing is called from another thread.
 */
#ifndef E810_QEMU_GLUE_H
#define E810_QEMU_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	E810_BAR0_SIZE = 32 << 20, /* registers and doorbells */
	E810_BAR3_SIZE = 64 << 10, /* MSI-X table and pending bits */
	E810_MAX_VECTORS = 1024,   /* largest value of the property "vectors" */
	E810_MAX_CEQS = 16,	   /* largest value of the property "ceqs" */
	E810_MAC_LEN = 6,
};

/* The QOM object, seen from C++. */
struct e810_host;
/* The C++ device, seen from C. */
struct e810_device;
/* A timer in virtual time. */
struct e810_timer;
/* Work put off to QEMU's main loop, or for a time under -icount. */
struct e810_bh;

typedef void (*e810_callback)(void *opaque);

/* Which reset QEMU delivers. */
enum e810_bus_reset {
	E810_BUS_RESET_POWER_ON, /* qdev reset: system reset or hot plug */
	E810_BUS_RESET_FLR,	 /* function-level reset through PCIe config space */
};

/** e810_dma_read() - Copy guest memory into the model, through the function's IOMMU view.
 * @addr: bus address, @len: bytes. Returns false if any byte could not be read; *buf is then undefined.
 */
bool e810_dma_read(struct e810_host *host, uint64_t addr, void *buf, size_t len);

/** e810_dma_write() - Copy into guest memory; see e810_dma_read(). */
bool e810_dma_write(struct e810_host *host, uint64_t addr, const void *buf, size_t len);

/** e810_msix_notify() - Send (or, when masked, pend) MSI-X @vector; out of range is ignored. */
void e810_msix_notify(struct e810_host *host, unsigned int vector);

/** e810_msix_clear_pending() - Take back a pending, masked MSI-X @vector. */
void e810_msix_clear_pending(struct e810_host *host, unsigned int vector);

/** e810_nic_send() - Hand one Ethernet frame without FCS to the network backend.
 *
 * Returns true if the frame was taken or dropped. Returns false if the backend is full: it has
 * queued this one frame, and e810_device_send_done() says when the next may be sent.
 */
bool e810_nic_send(struct e810_host *host, const void *frame, size_t len);

/** e810_nic_receive_ready() - Receiving is possible again: deliver what the backend holds back. */
void e810_nic_receive_ready(struct e810_host *host);

/** e810_link_is_up() - Link state of the network backend (QMP set_link). */
bool e810_link_is_up(struct e810_host *host);

/** e810_mac() - MAC address of the property "mac", 6 bytes. */
const uint8_t *e810_mac(struct e810_host *host);

/** e810_vectors() - Number of MSI-X vectors of the function. */
unsigned int e810_vectors(struct e810_host *host);

/** e810_trace_path() - Property "trace", or NULL. */
const char *e810_trace_path(struct e810_host *host);

/** e810_ceqs() - How many CEQs the device offers. */
unsigned int e810_ceqs(struct e810_host *host);

/** e810_fail_steps() - Property "fail" as given at the start, or NULL. */
const char *e810_fail_steps(struct e810_host *host);

/** e810_faults() - Property "fault" as given, or NULL. */
const char *e810_faults(struct e810_host *host);

/** e810_now() - Virtual time in ns. */
int64_t e810_now(void);

struct e810_timer *e810_timer_new(e810_callback fn, void *opaque);
void e810_timer_free(struct e810_timer *timer);
/** e810_timer_arm() - Run the callback at virtual time @expiry ns, replacing an earlier expiry. */
void e810_timer_arm(struct e810_timer *timer, int64_t expiry);
void e810_timer_cancel(struct e810_timer *timer);

struct e810_bh *e810_bh_new(e810_callback fn, void *opaque);
void e810_bh_free(struct e810_bh *bh);
/** e810_bh_schedule() - Run the callback once, soon; scheduling twice is once. */
void e810_bh_schedule(struct e810_bh *bh);
void e810_bh_cancel(struct e810_bh *bh);

/** e810_log_guest_error() - A line for "-d guest_errors". */
void e810_log_guest_error(const char *text);

/* Entry points of the device, implemented in device.cpp. */

/** e810_device_new() - Make the device; on failure NULL, and *error a static string. */
struct e810_device *e810_device_new(struct e810_host *host, const char **error);
void e810_device_free(struct e810_device *dev);
void e810_device_reset(struct e810_device *dev, enum e810_bus_reset kind);
/** e810_device_read() - 32-bit register read; @offset is in BAR0 and a multiple of 4. */
uint32_t e810_device_read(struct e810_device *dev, uint32_t offset);
void e810_device_write(struct e810_device *dev, uint32_t offset, uint32_t value);
/** e810_device_receive() - One frame from the network. Returns false to have it queued. */
bool e810_device_receive(struct e810_device *dev, const uint8_t *frame, size_t len);
void e810_device_send_done(struct e810_device *dev);
void e810_device_link_changed(struct e810_device *dev);
/** e810_device_set_fail() - Property "fail" is set while the device runs; NULL or what is wrong. */
const char *e810_device_set_fail(struct e810_device *dev, const char *steps);
/** e810_device_inject() - Property "inject" is set; NULL or what is wrong with it. */
const char *e810_device_inject(struct e810_device *dev, const char *text);
/** e810_device_injected() - How much of what was injected is still to come. */
unsigned int e810_device_injected(struct e810_device *dev);
/** e810_device_faults() - Property "faults": how many the device has made since it is there. */
uint64_t e810_device_faults(struct e810_device *dev);

#ifdef __cplusplus
}
#endif

#endif /* E810_QEMU_GLUE_H */
