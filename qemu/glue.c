// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU glue of the modelled E810: the QOM type "e810".
 *
 * The only file of the model that sees QEMU; instructions.c is a device of its own. It registers the
 * PCI device type when QEMU loads the shared object as a plugin, sets up configuration space (PCIe
 * endpoint, FLR, MSI-X, serial number), BAR0 and BAR3, and a NIC on the given netdev, and passes every
 * access on to the C++ device.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/qemu-plugin.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "sysemu/cpu-timers.h"

#include "glue.h"
#include "instructions.h"

#define TYPE_E810 "e810"
OBJECT_DECLARE_SIMPLE_TYPE(e810_host, E810)

enum {
	DEVICE_ID_E810_C_QSFP = 0x1592,
	SUBSYSTEM_ID = 0x0002,
	REVISION = 2,
	BAR_REGISTERS = 0,
	BAR_MSIX = 3,
	MSIX_TABLE = 0,
	MSIX_PBA = 0x8000,
	PCIE_CAP_OFFSET = 0xa0,
	MSIX_CAP_OFFSET = 0x70,
	DSN_CAP_OFFSET = 0x100,
	/* Until work put off is done under -icount. */
	PUT_OFF_LEAST_NS = 1000,
	PUT_OFF_SPREAD_NS = 2000,
	DEFAULT_VECTORS = 96,
};

struct e810_host {
	PCIDevice parent_obj;
	MemoryRegion registers;
	MemoryRegion msix;
	NICState *nic;
	NICConf conf;
	uint32_t vectors;
	uint32_t ceqs;
	char *trace;
	char *fail;
	char *fault;
	bool gone; /* off the bus: reads give ones, nothing else happens */
	struct e810_device *device;
};

struct e810_timer {
	QEMUTimer timer;
};

struct e810_bh {
	QEMUBH *bh;
	struct e810_timer *timer; /* instead, under -icount */
	uint32_t random;
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Services for the C++ side */

bool e810_dma_read(struct e810_host *host, uint64_t addr, void *buf, size_t len)
{
	return !host->gone && pci_dma_read(&host->parent_obj, addr, buf, len) == MEMTX_OK;
}

bool e810_dma_write(struct e810_host *host, uint64_t addr, const void *buf, size_t len)
{
	return !host->gone && pci_dma_write(&host->parent_obj, addr, buf, len) == MEMTX_OK;
}

void e810_msix_notify(struct e810_host *host, unsigned int vector)
{
	if (!host->gone && vector < host->vectors && msix_enabled(&host->parent_obj))
		msix_notify(&host->parent_obj, vector);
}

void e810_msix_clear_pending(struct e810_host *host, unsigned int vector)
{
	if (vector < host->vectors)
		msix_clr_pending(&host->parent_obj, vector);
}

static void send_done(NetClientState *nc, ssize_t len)
{
	struct e810_host *host = qemu_get_nic_opaque(nc);

	if (host->device)
		e810_device_send_done(host->device);
}

bool e810_nic_send(struct e810_host *host, const void *frame, size_t len)
{
	return qemu_send_packet_async(qemu_get_queue(host->nic), frame, len, send_done) != 0;
}

void e810_nic_receive_ready(struct e810_host *host)
{
	qemu_flush_queued_packets(qemu_get_queue(host->nic));
}

bool e810_link_is_up(struct e810_host *host)
{
	return !qemu_get_queue(host->nic)->link_down;
}

const uint8_t *e810_mac(struct e810_host *host)
{
	return host->conf.macaddr.a;
}

unsigned int e810_vectors(struct e810_host *host)
{
	return host->vectors;
}

unsigned int e810_ceqs(struct e810_host *host)
{
	return host->ceqs;
}

const char *e810_trace_path(struct e810_host *host)
{
	return host->trace;
}

const char *e810_fail_steps(struct e810_host *host)
{
	return host->fail;
}

const char *e810_faults(struct e810_host *host)
{
	return host->fault;
}

int64_t e810_now(void)
{
	return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

struct e810_timer *e810_timer_new(e810_callback fn, void *opaque)
{
	struct e810_timer *timer = g_new0(struct e810_timer, 1);

	timer_init_ns(&timer->timer, QEMU_CLOCK_VIRTUAL, fn, opaque);
	return timer;
}

void e810_timer_free(struct e810_timer *timer)
{
	timer_del(&timer->timer);
	g_free(timer);
}

void e810_timer_arm(struct e810_timer *timer, int64_t expiry)
{
	timer_mod(&timer->timer, expiry);
}

void e810_timer_cancel(struct e810_timer *timer)
{
	timer_del(&timer->timer);
}

/*
 * Under -icount time is counted in instructions, so that a run can be repeated. There the speed of
 * the host must not decide when the device goes on: it does so by a timer. Its times vary, always in
 * the same way: with one time, a few instructions of a driver could decide whether each message takes
 * an interrupt more.
 */
struct e810_bh *e810_bh_new(e810_callback fn, void *opaque)
{
	struct e810_bh *bh = g_new0(struct e810_bh, 1);

	if (icount_enabled())
		bh->timer = e810_timer_new(fn, opaque);
	else
		bh->bh = qemu_bh_new(fn, opaque);
	return bh;
}

void e810_bh_free(struct e810_bh *bh)
{
	if (bh->timer)
		e810_timer_free(bh->timer);
	else
		qemu_bh_delete(bh->bh);
	g_free(bh);
}

static uint32_t next_random(struct e810_bh *bh)
{
	bh->random = bh->random * 1664525 + 1013904223;
	return bh->random >> 16;
}

void e810_bh_schedule(struct e810_bh *bh)
{
	if (!bh->timer)
		qemu_bh_schedule(bh->bh);
	else if (!timer_pending(&bh->timer->timer))
		e810_timer_arm(bh->timer, e810_now() + PUT_OFF_LEAST_NS +
					  next_random(bh) % PUT_OFF_SPREAD_NS);
}

void e810_bh_cancel(struct e810_bh *bh)
{
	if (bh->timer)
		e810_timer_cancel(bh->timer);
	else
		qemu_bh_cancel(bh->bh);
}

void e810_log_guest_error(const char *text)
{
	qemu_log_mask(LOG_GUEST_ERROR, TYPE_E810 ": %s\n", text);
}

/* BAR0 */

static uint64_t registers_read(void *opaque, hwaddr addr, unsigned int size)
{
	struct e810_host *host = opaque;

	return host->gone ? UINT32_MAX : e810_device_read(host->device, addr);
}

static void registers_write(void *opaque, hwaddr addr, uint64_t value, unsigned int size)
{
	struct e810_host *host = opaque;

	if (!host->gone)
		e810_device_write(host->device, addr, value);
}

static const MemoryRegionOps registers_ops = {
	.read = registers_read,
	.write = registers_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	/* Wider accesses (statistics, push pages) are split; narrower ones the device does not have. */
	.valid = { .min_access_size = 4, .max_access_size = 8 },
	.impl = { .min_access_size = 4, .max_access_size = 4 },
};

/* Network backend */

/*
 * A frame that the device cannot take is refused in receive(), not here, since only there is its
 * destination known: one for RDMA or one that no filter wants must not wait for a LAN descriptor.
 */
static ssize_t nic_receive(NetClientState *nc, const uint8_t *frame, size_t len)
{
	struct e810_host *host = qemu_get_nic_opaque(nc);

	if (host->gone)
		return len;
	return e810_device_receive(host->device, frame, len) ? (ssize_t)len : 0;
}

static void nic_link_changed(NetClientState *nc)
{
	struct e810_host *host = qemu_get_nic_opaque(nc);

	e810_device_link_changed(host->device);
}

static NetClientInfo nic_info = {
	.type = NET_CLIENT_DRIVER_NIC,
	.size = sizeof(NICState),
	.receive = nic_receive,
	.link_status_changed = nic_link_changed,
};

/* PCI function */

/* EUI-64 of the MAC, as cards derive their serial number. */
static uint64_t serial_number(const uint8_t *mac)
{
	return (uint64_t)mac[0] << 56 | (uint64_t)mac[1] << 48 | (uint64_t)mac[2] << 40 |
	       0xffffULL << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];
}

static bool init_msix(struct e810_host *host, Error **errp)
{
	PCIDevice *pci = &host->parent_obj;
	unsigned int vector;

	memory_region_init(&host->msix, OBJECT(host), "e810-msix", E810_BAR3_SIZE);
	pci_register_bar(pci, BAR_MSIX, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
			 &host->msix);
	if (msix_init(pci, host->vectors, &host->msix, BAR_MSIX, MSIX_TABLE, &host->msix, BAR_MSIX,
		      MSIX_PBA, MSIX_CAP_OFFSET, errp) < 0)
		return false;
	for (vector = 0; vector < host->vectors; vector++)
		msix_vector_use(pci, vector);
	return true;
}

/* PCIe 4.0 x16, as the card has; behind the root complex itself there is no link. */
static void init_link(PCIDevice *pci)
{
	uint8_t *cap = pci->config + pci->exp.exp_cap;

	if (pcie_cap_get_type(pci) != PCI_EXP_TYPE_ENDPOINT)
		return;
	pci_long_test_and_clear_mask(cap + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_MLW | PCI_EXP_LNKCAP_SLS);
	pci_long_test_and_set_mask(cap + PCI_EXP_LNKCAP,
				   QEMU_PCI_EXP_LNKCAP_MLW(QEMU_PCI_EXP_LNK_X16) |
				   QEMU_PCI_EXP_LNKCAP_MLS(QEMU_PCI_EXP_LNK_16GT));
	pci_word_test_and_clear_mask(cap + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_NLW | PCI_EXP_LNKSTA_CLS);
	pci_word_test_and_set_mask(cap + PCI_EXP_LNKSTA,
				   QEMU_PCI_EXP_LNKSTA_NLW(QEMU_PCI_EXP_LNK_X16) |
				   QEMU_PCI_EXP_LNKSTA_CLS(QEMU_PCI_EXP_LNK_16GT));
	pci_long_test_and_set_mask(cap + PCI_EXP_LNKCAP2,
				   PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB |
				   PCI_EXP_LNKCAP2_SLS_8_0GB | PCI_EXP_LNKCAP2_SLS_16_0GB);
}

static void e810_realize(PCIDevice *pci, Error **errp)
{
	struct e810_host *host = E810(pci);
	DeviceState *qdev = DEVICE(pci);
	const char *error;

	if (!host->vectors || host->vectors > E810_MAX_VECTORS) {
		error_setg(errp, "e810: vectors must be 1 to %d", E810_MAX_VECTORS);
		return;
	}
	if (!host->ceqs || host->ceqs > E810_MAX_CEQS) {
		error_setg(errp, "e810: ceqs must be 1 to %d", E810_MAX_CEQS);
		return;
	}
	qemu_macaddr_default_if_unset(&host->conf.macaddr);

	memory_region_init_io(&host->registers, OBJECT(host), &registers_ops, host, "e810-registers",
			      E810_BAR0_SIZE);
	pci_register_bar(pci, BAR_REGISTERS,
			 PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, &host->registers);
	if (!init_msix(host, errp))
		return;
	if (pcie_endpoint_cap_init(pci, PCIE_CAP_OFFSET) < 0) {
		error_setg(errp, "e810: PCIe capability does not fit");
		goto out_msix;
	}
	init_link(pci);
	pcie_cap_flr_init(pci);
	pcie_dev_ser_num_init(pci, DSN_CAP_OFFSET, serial_number(host->conf.macaddr.a));

	host->nic = qemu_new_nic(&nic_info, &host->conf, TYPE_E810, qdev->id,
				 &qdev->mem_reentrancy_guard, host);
	qemu_format_nic_info_str(qemu_get_queue(host->nic), host->conf.macaddr.a);

	host->device = e810_device_new(host, &error);
	if (!host->device) {
		error_setg(errp, "e810: %s", error);
		goto out_nic;
	}
	return;

out_nic:
	qemu_del_nic(host->nic);
	pcie_cap_exit(pci);
out_msix:
	msix_unuse_all_vectors(pci);
	msix_uninit(pci, &host->msix, &host->msix);
}

static void e810_exit(PCIDevice *pci)
{
	struct e810_host *host = E810(pci);

	/* The device first: deleting the NIC completes queued sends, and nobody may hear of them. */
	e810_device_free(host->device);
	host->device = NULL;
	qemu_del_nic(host->nic);
	pcie_cap_exit(pci);
	msix_unuse_all_vectors(pci);
	msix_uninit(pci, &host->msix, &host->msix);
}

/* Called for a system reset, hot plug, and FLR, which QEMU marks by leaving the FLR bit set meanwhile. */
static void e810_reset(DeviceState *qdev)
{
	struct e810_host *host = E810(qdev);
	PCIDevice *pci = &host->parent_obj;
	bool flr = pci_get_word(pci->config + pci->exp.exp_cap + PCI_EXP_DEVCTL) &
		   PCI_EXP_DEVCTL_BCR_FLR;

	e810_device_reset(host->device, flr ? E810_BUS_RESET_FLR : E810_BUS_RESET_POWER_ON);
}

static uint32_t e810_read_config(PCIDevice *pci, uint32_t addr, int len)
{
	return E810(pci)->gone ? UINT32_MAX : pci_default_read_config(pci, addr, len);
}

static void e810_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len)
{
	if (E810(pci)->gone)
		return;
	pci_default_write_config(pci, addr, value, len);
	pcie_cap_flr_write_config(pci, addr, value, len);
}

/* Properties that can also be set while the device runs, with QMP's qom-set. */

static char *get_fail(Object *obj, Error **errp)
{
	return g_strdup(E810(obj)->fail);
}

static void set_fail(Object *obj, const char *value, Error **errp)
{
	struct e810_host *host = E810(obj);
	const char *error = host->device ? e810_device_set_fail(host->device, value) : NULL;

	if (error) {
		error_setg(errp, "e810: %s", error);
		return;
	}
	g_free(host->fail);
	host->fail = g_strdup(value);
}

static char *get_inject(Object *obj, Error **errp)
{
	struct e810_host *host = E810(obj);

	return g_strdup_printf("%u", host->device ? e810_device_injected(host->device) : 0);
}

static void set_inject(Object *obj, const char *value, Error **errp)
{
	struct e810_host *host = E810(obj);
	const char *error = host->device ? e810_device_inject(host->device, value) :
					   "nothing can be injected before it runs";

	if (error)
		error_setg(errp, "e810: %s", error);
}

static void get_faults(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	struct e810_host *host = E810(obj);
	uint64_t faults = host->device ? e810_device_faults(host->device) : 0;

	visit_type_uint64(v, name, &faults, errp);
}

static bool get_gone(Object *obj, Error **errp)
{
	return E810(obj)->gone;
}

/* A card that is put back is as after power on. */
static void set_gone(Object *obj, bool gone, Error **errp)
{
	struct e810_host *host = E810(obj);
	bool returns = host->gone && !gone;

	host->gone = gone;
	if (returns && host->device)
		device_cold_reset(DEVICE(obj));
}

static void e810_finalize(Object *obj)
{
	g_free(E810(obj)->fail);
}

static Property e810_properties[] = {
	DEFINE_NIC_PROPERTIES(struct e810_host, conf),
	DEFINE_PROP_STRING("trace", struct e810_host, trace),
	DEFINE_PROP_STRING("fault", struct e810_host, fault),
	DEFINE_PROP_UINT32("vectors", struct e810_host, vectors, DEFAULT_VECTORS),
	DEFINE_PROP_UINT32("ceqs", struct e810_host, ceqs, E810_MAX_CEQS),
	DEFINE_PROP_END_OF_LIST(),
};

static const VMStateDescription e810_vmstate = {
	.name = TYPE_E810,
	.unmigratable = 1,
};

static void e810_class_init(ObjectClass *klass, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

	dc->desc = "Intel E810-C 100GbE with RDMA (model)";
	dc->reset = e810_reset;
	dc->vmsd = &e810_vmstate;
	device_class_set_props(dc, e810_properties);
	object_class_property_add_str(klass, "fail", get_fail, set_fail);
	object_class_property_set_description(klass, "fail", "steps that the device refuses");
	object_class_property_add_str(klass, "inject", get_inject, set_inject);
	object_class_property_set_description(klass, "inject", "faults, now");
	object_class_property_add(klass, "faults", "uint64", get_faults, NULL, NULL, NULL);
	object_class_property_set_description(klass, "faults", "how many it has made");
	object_class_property_add_bool(klass, "gone", get_gone, set_gone);
	object_class_property_set_description(klass, "gone", "off the bus, without notice");
	set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);

	pc->realize = e810_realize;
	pc->exit = e810_exit;
	pc->config_read = e810_read_config;
	pc->config_write = e810_write_config;
	pc->vendor_id = PCI_VENDOR_ID_INTEL;
	pc->device_id = DEVICE_ID_E810_C_QSFP;
	pc->subsystem_vendor_id = PCI_VENDOR_ID_INTEL;
	pc->subsystem_id = SUBSYSTEM_ID;
	pc->revision = REVISION;
	pc->class_id = PCI_CLASS_NETWORK_ETHERNET;
}

static const TypeInfo e810_type = {
	.name = TYPE_E810,
	.parent = TYPE_PCI_DEVICE,
	.instance_size = sizeof(struct e810_host),
	.instance_finalize = e810_finalize,
	.class_init = e810_class_init,
	.interfaces = (InterfaceInfo[]) { { INTERFACE_PCIE_DEVICE }, {} },
};

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	type_register_static(&e810_type);
	instruction_counter_register();
	return 0;
}
