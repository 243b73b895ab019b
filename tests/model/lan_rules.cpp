// SPDX-License-Identifier: GPL-2.0
/*
 * What the model's LAN side must do and must refuse, one rule after the other, without QEMU and without
 * a driver that would only do what is right. Prints a line for each rule that is broken.
 */
#include <algorithm>
#include <cstdio>

#include "lan_driver.h"
#include "lan_regs.h"
#include "packet.h"
#include "rules.h"

using namespace e810;

namespace {

enum : uint16_t {
	ok = 0,
	eperm = 1,
	enoent = 2,
	eexist = 13,
	einval = 14,
	enospc = 16,
	enosys = 17
};

const Octets own_mac = {0x52, 0x54, 0, 0xe8, 0x10, 1};
const Octets peer_mac = {0x52, 0x54, 0, 0xe8, 0x10, 2};

void put_le(Octets &to, size_t at, uint64_t value, size_t size)
{
	std::memcpy(to.data() + at, &value, size);
}

Octets ethernet(const Octets &to, uint16_t type, size_t payload)
{
	Octets frame = to;

	frame.insert(frame.end(), peer_mac.begin(), peer_mac.end());
	frame.resize(frame.size() + 2 + payload);
	put_be16(frame, 12, type);
	for (size_t i = 14; i < frame.size(); i++)
		frame[i] = static_cast<uint8_t>(i * 7);
	return frame;
}

/* An IPv4 or IPv6 packet of TCP or UDP with a payload; checksums are left to the device. */
Octets internet(bool ipv6, uint8_t protocol, size_t payload)
{
	size_t ip = ipv6 ? ipv6_header : ipv4_header;
	size_t l4 = protocol == protocol_tcp ? tcp_header : udp_header;
	Octets frame = ethernet(own_mac, ipv6 ? ethertype_ipv6 : ethertype_ipv4, ip + l4 + payload);
	std::span<uint8_t> header(frame.data() + 14, frame.size() - 14);

	if (ipv6) {
		header[0] = 0x60;
		put_be16(header, 4, static_cast<uint16_t>(l4 + payload));
		header[6] = protocol;
	} else {
		header[0] = 0x45;
		put_be16(header, 2, static_cast<uint16_t>(header.size()));
		put_be16(header, 4, 100);
		put_be16(header, 6, 0x4000);
		header[9] = protocol;
	}
	if (protocol == protocol_udp)
		put_be16(header, ip + 4, static_cast<uint16_t>(l4 + payload));
	else
		header[ip + 12] = 0x50;
	return frame;
}

/* Second descriptor word for checksums of such a packet. */
uint64_t offload_word(bool ipv6, uint8_t protocol)
{
	uint64_t ip = ipv6 ? ipv6_header : ipv4_header;
	uint64_t l4 = protocol == protocol_tcp ? tcp_header : udp_header;
	uint64_t command = (ipv6 ? 0x20 : 0x60) | (protocol == protocol_tcp ? 0x100 : 0x300);

	return command << 4 | uint64_t{7} << 16 | ip / 4 << 23 | l4 / 4 << 30;
}

bool checksums_right(const Octets &frame)
{
	Headers h = parse(frame);
	Frame ip = Frame(frame).subspan(h.l3);
	Frame l4 = Frame(frame).subspan(h.l4, h.l4_length);
	uint64_t sum = pseudo_header_sum(ip, h.ipv6, h.protocol, h.l4_length);

	return (h.ipv6 || checksum_finish(checksum_add(0, ip.first(ipv4_header))) == 0) &&
	       checksum_finish(checksum_add(sum, l4)) == 0;
}

bool receive(LanDriver &driver, const Octets &frame)
{
	return e810_device_receive(driver.host.device, frame.data(), frame.size());
}

uint16_t rx_status(LanDriver &driver, uint32_t index)
{
	return driver.get<uint16_t>(lan_place::rx_ring + index * 32 + 8);
}

/* Lets a driver receive: VSI 8 with the given flags, a rule for the own address, a ring. */
void open_receive(LanDriver &driver, uint8_t flags2 = 0)
{
	Octets header = ethernet(own_mac, ethertype_vlan, 2);

	driver.add_vsi(flags2);
	driver.add_rule(1, 1, 8 << 4 | 1 << 17, header);
	driver.open_rx();
}

void admin_queue()
{
	LanDriver driver("aq-driver-version");
	Admin version, caps, big;

	driver.run(1, version);
	CHECK(version.retval == ok && (version.flags & 7) == 3 && version.params[13] == 1);
	CHECK(driver.result(0x7777) == enosys);
	CHECK(driver.result(2) == eperm);
	caps.data.resize(4096);
	driver.run(0xa, caps);
	CHECK(caps.retval == ok && caps.datalen == 32 * caps.params[4]);
	big.data.resize(4097);
	CHECK(driver.result(0xa, big) == einval);
	driver.host.hole = lan_place::command;
	CHECK(driver.result(0xa, caps) == einval);
	driver.host.hole = UINT64_MAX;
	CHECK(driver.result(1) == ok);
	driver.write(regs::PF_FW_ATQBAL + 0x400, 1000);
	CHECK(driver.read(regs::PF_FW_ATQBAL + 0x200) & 1u << 30);
}

void interrupts()
{
	LanDriver driver;
	uint32_t dyn = regs::GLINT_DYN_CTL + 4 * 5;
	auto &messages = driver.host.messages;

	driver.write(regs::PFINT_OICR_CTL, 5);
	driver.write(regs::PFINT_OICR_ENA, 1u << 31);
	driver.write(dyn, 1);
	driver.write(regs::PFINT_OICR, 1u << 31);
	CHECK(messages[5] == 0); /* the cause is not enabled */
	driver.write(regs::PFINT_OICR_CTL, 5 | 1u << 30);
	driver.write(regs::PFINT_OICR, 1u << 31);
	CHECK(messages[5] == 1);
	CHECK(!(driver.read(dyn) & 1)); /* masks itself */
	driver.write(regs::PFINT_OICR, 1u << 31);
	CHECK(messages[5] == 1);
	CHECK(driver.read(regs::PFINT_OICR) == 1u << 31 && driver.read(regs::PFINT_OICR) == 0);
	driver.write(dyn, 3);
	CHECK(messages[5] == 2); /* remembered */
	driver.write(dyn, 1u << 31 | 1u << 2);
	CHECK(messages[5] == 2); /* triggered, but masked */
	driver.write(dyn, 1);
	CHECK(messages[5] == 3);
	driver.write(regs::PFINT_OICR_CTL, 2000 | 1u << 30); /* no such vector: must not crash */
	driver.write(regs::PFINT_OICR, 1u << 31);
}

void resets()
{
	LanDriver driver;

	CHECK(driver.read(regs::GLNVM_ULD) == 0x73b);
	driver.write(regs::PFGEN_CTRL, 1);
	CHECK(driver.read(regs::PFGEN_CTRL) == 0);
	CHECK(driver.read(regs::PF_FW_ATQBAL + 0x200) == 0);
	driver.write(regs::GLGEN_RTRIG, 1);
	CHECK(driver.read(regs::GLGEN_RSTAT) == (1 << 2 | 1));
	CHECK(driver.read(regs::PFINT_OICR) & 1u << 20);
	host_time += 1'000'000'000;
	driver.host.settle();
	CHECK(driver.read(regs::GLGEN_RSTAT) == 1 << 2);
}

void package()
{
	LanDriver driver;
	Admin lock, buffer, info;

	lock.params[0] = 4;
	driver.run(8, lock);
	CHECK(lock.retval == ok && lock.params[12] == 0);
	CHECK(driver.result(0xc42, buffer) == eperm);
	buffer.data.resize(4096);
	put_le(buffer.data, 0, 1, 2);
	put_le(buffer.data, 4, 1, 4);
	put_le(buffer.data, 8, 12, 2);
	put_le(buffer.data, 10, 36, 2);
	buffer.data[13] = 3;
	buffer.params[0] = 1;
	CHECK(driver.result(0xc40, buffer) == ok);
	CHECK(driver.result(0xc40, buffer) == eexist);
	info.data.resize(164);
	driver.run(0xc43, info);
	CHECK(info.data[0] == 2 && info.data[4 + 40 + 1] == 3 && info.data[4 + 40 + 37] == 1);
	e810_device_reset(driver.host.device, E810_BUS_RESET_FLR);
	driver.open_admin();
	driver.run(0xc43, info);
	CHECK(info.data[0] == 2); /* the package outlives the function's resets */
	e810_device_reset(driver.host.device, E810_BUS_RESET_POWER_ON);
	driver.open_admin();
	driver.run(0xc43, info);
	CHECK(info.data[0] == 1);
}

/* Adds @count nodes below @parent; the first one's TEID is left in *teid. */
uint16_t add_nodes(LanDriver &driver, uint32_t parent, uint16_t count, uint32_t *teid = nullptr)
{
	Admin admin;

	admin.params[0] = 1;
	admin.data.resize(8 + 24u * count);
	put_le(admin.data, 0, parent, 4);
	put_le(admin.data, 4, count, 2);
	driver.run(0x401, admin);
	if (teid)
		std::memcpy(teid, admin.data.data() + 12, 4);
	return admin.retval;
}

uint16_t delete_node(LanDriver &driver, uint32_t parent, uint32_t teid)
{
	Admin admin;

	admin.params[0] = 1;
	admin.data.resize(12);
	put_le(admin.data, 0, parent, 4);
	put_le(admin.data, 4, 1, 2);
	put_le(admin.data, 8, teid, 4);
	return driver.result(0x40f, admin);
}

uint16_t move_node(LanDriver &driver, uint32_t from, uint32_t to, uint32_t teid)
{
	Admin admin;

	admin.params[0] = 1;
	admin.data.resize(16);
	put_le(admin.data, 0, from, 4);
	put_le(admin.data, 4, to, 4);
	put_le(admin.data, 8, 1, 2);
	put_le(admin.data, 12, teid, 4);
	return driver.result(0x408, admin);
}

void scheduler()
{
	LanDriver driver;
	uint32_t above, below;

	CHECK(delete_node(driver, 2, 3) == einval); /* it has children */
	CHECK(delete_node(driver, 7, 9) == einval); /* another's child */
	CHECK(delete_node(driver, 8, 9) == ok);
	CHECK(delete_node(driver, 8, 9) == einval);
	CHECK(add_nodes(driver, 0x1234, 1) == einval);
	CHECK(add_nodes(driver, 2, 1, &above) == ok);
	CHECK(add_nodes(driver, above, 1, &below) == ok);
	CHECK(move_node(driver, 2, below, above) == einval); /* into its own branch */
	CHECK(move_node(driver, 2, above, below) == einval); /* not where it is */
	CHECK(move_node(driver, above, 2, below) == ok);
	CHECK(delete_node(driver, 2, above) == ok);
	CHECK(add_nodes(driver, below, 64) == ok);
	CHECK(add_nodes(driver, below, 1) == enospc);
	CHECK(driver.add_tx_queue(8) == ok);
	CHECK(driver.add_tx_queue(8) == eexist);
	CHECK(driver.add_tx_queue(8, 999) == einval);
	CHECK(driver.add_tx_queue(8, 1, 0) == einval);
	CHECK(driver.add_tx_queue(8, 1, 8191) == einval);
	CHECK(driver.add_tx_queue(8, 1) == ok); /* what failed has left nothing */
}

/* The TLV that gives a mode's traffic classes: @count of them (DSCP mode), @priorities as nibbles. */
Admin local_mib(uint32_t oui_subtype, uint8_t count, std::array<uint8_t, 4> priorities)
{
	Admin admin;

	admin.params[2] = 27;
	admin.data.resize(27);
	put_be16(admin.data, 0, 127 << 9 | 25);
	put_be16(admin.data, 2, static_cast<uint16_t>(oui_subtype >> 16));
	put_be16(admin.data, 4, static_cast<uint16_t>(oui_subtype));
	admin.data[6] = count;
	std::ranges::copy(priorities, admin.data.begin() + 7);
	admin.data[11] = 30;
	admin.data[12] = 70;
	return admin;
}

Admin port_ets(LanDriver &driver)
{
	Admin admin;

	admin.data.resize(64);
	driver.run(0x40e, admin);
	return admin;
}

uint32_t class_node(const Admin &ets, unsigned int tc)
{
	uint32_t teid;

	std::memcpy(&teid, ets.data.data() + 32 + 4 * tc, sizeof(teid));
	return teid;
}

void traffic_classes()
{
	constexpr uint32_t ets_tlv = 0x0080c209, dscp_tlv = 0xffffff43, none = 0xffffffff;
	LanDriver driver;
	Admin mode, ets = port_ets(driver);
	uint32_t below;

	CHECK(ets.data[0] == 1 && ets.data[8] == 100 && class_node(ets, 0) == 2);
	CHECK(class_node(ets, 1) == none);

	/* Priority 3 in class 1. */
	CHECK(driver.result(0xa08, local_mib(ets_tlv, 0, {0, 1, 0, 0})) == ok);
	CHECK(driver.read(regs::PRTDCB_TUP2TC) == 1 << 9);
	ets = port_ets(driver);
	uint32_t first = class_node(ets, 1);
	CHECK(ets.data[0] == 3 && ets.data[8] == 30 && ets.data[9] == 70);
	CHECK(first != none && class_node(ets, 2) == none);
	CHECK(add_nodes(driver, first, 1, &below) == ok);
	CHECK(driver.add_tx_queue(below) == ok);
	CHECK(delete_node(driver, 1, first) == einval);

	/* A class that is gone and comes back is the same node. */
	CHECK(driver.result(0xa08, local_mib(ets_tlv, 0, {})) == ok);
	CHECK(port_ets(driver).data[0] == 1 && driver.read(regs::PRTDCB_TUP2TC) == 0);
	CHECK(driver.result(0xa08, local_mib(ets_tlv, 0, {0, 1, 0, 0x20})) == ok);
	ets = port_ets(driver);
	CHECK(class_node(ets, 1) == first && class_node(ets, 2) != none);
	CHECK(delete_node(driver, 1, class_node(ets, 2)) == einval); /* it is firmware's */

	/* In DSCP mode priorities are classes, as many as the driver says. */
	mode.params[0] = 3;
	CHECK(driver.result(0x303, mode) == einval);
	mode.params[0] = 2;
	CHECK(driver.result(0x303, mode) == ok);
	CHECK(driver.result(0xa08, local_mib(dscp_tlv, 4, {})) == ok);
	CHECK(port_ets(driver).data[0] == 0xf && driver.read(regs::PRTDCB_TUP2TC) == 03210);
	CHECK(driver.result(0xa08, local_mib(dscp_tlv, 0, {})) == ok);
	CHECK(port_ets(driver).data[0] == 0xff && driver.read(regs::PRTDCB_TUP2TC) == 076543210);

	/* Cut off, or nonsense: as if it were not there. */
	Admin cut = local_mib(dscp_tlv, 4, {});
	cut.params[2] = 26;
	CHECK(driver.result(0xa08, cut) == ok);
	CHECK(port_ets(driver).data[0] == 1);

	driver.write(regs::PFGEN_CTRL, 1);
	driver.open_admin();
	CHECK(port_ets(driver).data[0] == 1 && class_node(port_ets(driver), 1) == none);
}

void resources()
{
	LanDriver driver;
	Admin admin;

	admin.data.resize(6);
	put_le(admin.data, 0, 0x60, 2);
	put_le(admin.data, 2, 2, 2);
	CHECK(driver.result(0x208, admin) == einval); /* no room for two ids */
	put_le(admin.data, 2, 1, 2);
	for (int i = 0; i < 128; i++)
		CHECK(driver.result(0x208, admin) == ok);
	CHECK(driver.result(0x208, admin) == enospc);
	put_le(admin.data, 4, 7, 2);
	CHECK(driver.result(0x209, admin) == ok);
	CHECK(driver.result(0x209, admin) == einval);
	put_le(admin.data, 0, 0x22, 2);
	put_le(admin.data, 2, 15000, 2);
	CHECK(driver.result(0x208, admin) == ok); /* a pool: a count, no ids */
}

void flash()
{
	LanDriver driver;
	Admin admin;

	admin.data.resize(2);
	put_le(admin.data, 0, 0, 2);
	admin.params[6] = 2;
	driver.run(0x701, admin);
	CHECK(admin.retval == ok && admin.data[0] == 0x40);
	admin.params[3] = 0x80;
	admin.params[2] = 0x0f;
	admin.params[0] = admin.params[1] = 0xff;
	admin.params[6] = 1;
	admin.params[7] = 0;
	CHECK(driver.result(0x701, admin) == ok);
	admin.params[6] = 2;
	CHECK(driver.result(0x701, admin) == einval);
}

void transmit()
{
	LanDriver driver;
	auto &sent = driver.host.sent;
	Octets small = ethernet(own_mac, 0x88b5, 4);

	driver.add_tx_queue(8);
	driver.send(small, 0);
	CHECK(sent.size() == 1 && sent[0].size() == 60 &&
	      std::equal(small.begin(), small.end(), sent[0].begin()));
	CHECK((driver.get<uint64_t>(lan_place::tx_ring + 8) & 0xf) == 0xf);
	for (bool ipv6 : {false, true}) {
		for (uint8_t protocol : {protocol_tcp, protocol_udp}) {
			for (size_t payload : {0u, 1u, 1000u}) {
				driver.send(internet(ipv6, protocol, payload),
					    offload_word(ipv6, protocol));
				CHECK(checksums_right(sent.back()));
			}
		}
	}
	/* A VLAN tag goes between the addresses and the type. */
	driver.send(small, uint64_t{0x2005} << 48 | 8 << 4);
	CHECK(parse(sent.back()).tagged && parse(sent.back()).vlan_tci == 0x2005 &&
	      parse(sent.back()).ethertype == 0x88b5);
}

void segmentation()
{
	constexpr size_t mss = 1000, payload = 62345;

	for (bool ipv6 : {false, true}) {
		for (uint8_t protocol : {protocol_tcp, protocol_udp}) {
			LanDriver driver;
			auto &sent = driver.host.sent;
			Octets packet = internet(ipv6, protocol, payload);
			size_t header = packet.size() - payload;
			Octets joined;

			if (protocol == protocol_tcp)
				packet[header - tcp_header + 13] = 0x19; /* ACK, PSH, FIN */
			driver.add_tx_queue(8);
			driver.tx(0, 1 | 1 << 4 | uint64_t{payload} << 30 | uint64_t{mss} << 50);
			driver.send(packet, offload_word(ipv6, protocol));
			CHECK(sent.size() == (payload + mss - 1) / mss);
			for (const Octets &frame : sent) {
				CHECK(checksums_right(frame));
				joined.insert(joined.end(),
					      frame.begin() + static_cast<long>(header),
					      frame.end());
				if (protocol == protocol_tcp)
					CHECK((frame[header - 7] == 0x19) ==
					      (&frame == &sent.back()));
			}
			CHECK(std::equal(joined.begin(), joined.end(),
					 packet.begin() + static_cast<long>(header), packet.end()));
		}
	}
}

void transmit_faults()
{
	LanDriver driver;
	Octets frame = ethernet(own_mac, 0x88b5, 100);

	driver.add_tx_queue(8);
	driver.send(frame, offload_word(false, protocol_tcp) |
				   uint64_t{127} << 23); /* headers past its end */
	CHECK(driver.host.sent.empty());
	driver.send(frame, 0);
	CHECK(driver.host.sent.size() == 1);
	driver.host.backend_full = true;
	for (int i = 0; i < 3; i++)
		driver.send(frame, 0);
	CHECK(driver.host.sent.size() == 2); /* one is with the backend, the others wait */
	driver.host.backend_full = false;
	e810_device_send_done(driver.host.device);
	driver.host.settle();
	CHECK(driver.host.sent.size() == 4);
	driver.host.link_up = false;
	driver.send(frame, 0);
	CHECK(driver.host.sent.size() == 4);
	driver.host.link_up = true;
	driver.host.hole = lan_place::tx_data;
	driver.send(frame, 0);
	driver.host.hole = UINT64_MAX;
	driver.send(frame, 0);
	CHECK(driver.host.sent.size() == 4); /* the queue has been stopped */
}

void receive_rings()
{
	LanDriver driver;
	Octets tcp = internet(false, protocol_tcp, 2500);

	open_receive(driver);
	CHECK(receive(driver, tcp)); /* three buffers; checksums wrong */
	CHECK((rx_status(driver, 0) & 3) == 1 && (rx_status(driver, 1) & 3) == 1);
	CHECK((rx_status(driver, 2) & 3) == 3 && rx_status(driver, 2) & 1 << 5);
	CHECK(!rx_status(driver, 3));
	CHECK(std::equal(tcp.begin(), tcp.end(), driver.host.memory.begin() + lan_place::rx_data));
	for (int i = 0; i < 4; i++)
		CHECK(receive(driver, tcp));
	CHECK(!receive(driver, ethernet(own_mac, 0x88b5, 50))); /* no buffer is left */
	CHECK(!driver.host.receive_ready);
	driver.write(regs::QRX_TAIL, 3);
	driver.host.settle();
	CHECK(driver.host.receive_ready == 1);
	CHECK(receive(driver, ethernet(own_mac, 0x88b5, 50)));
	driver.write(regs::QRX_CTRL, 0);
	CHECK(!(driver.read(regs::QRX_CTRL) & 4));
	CHECK(receive(driver, tcp)); /* lost, not held */
}

void filters()
{
	LanDriver driver;
	Octets header = ethernet(own_mac, ethertype_vlan, 2);
	Octets broadcast = ethernet(Octets(6, 0xff), 0x88b5, 50);

	open_receive(driver, 1); /* prunes VLANs */
	receive(driver, ethernet(own_mac, 0x88b5, 50));
	CHECK(!rx_status(driver, 0)); /* not even VLAN 0 is listed */
	header[14] = header[15] = 0;
	CHECK(driver.add_rule(0, 4, 8 << 4 | 2, header) == ok);
	receive(driver, ethernet(peer_mac, 0x88b5, 50));
	receive(driver, broadcast);
	CHECK(!rx_status(driver, 0));
	receive(driver, ethernet(own_mac, 0x88b5, 50));
	CHECK(rx_status(driver, 0));

	Octets tagged = ethernet(own_mac, ethertype_vlan, 50);
	put_be16(tagged, 14, 0x6005);
	receive(driver, tagged);
	CHECK(!rx_status(driver, 1));
	put_be16(header, 14, 5);
	CHECK(driver.add_rule(0, 4, 8 << 4 | 2, header) == ok);
	receive(driver, tagged);
	CHECK(rx_status(driver, 1) & 1 << 13); /* the tag is in the descriptor */
	CHECK(driver.get<uint16_t>(lan_place::rx_ring + 32 + 10) == 0x6005);
	CHECK(driver.get<uint16_t>(lan_place::rx_ring + 32 + 4) == tagged.size() - 4);

	std::fill_n(header.begin(), 6, uint8_t{0xff});
	CHECK(driver.add_rule(0, 3, 8 << 4 | 1 << 17, header) ==
	      ok); /* promiscuous for broadcasts */
	receive(driver, broadcast);
	CHECK(rx_status(driver, 2));
	put_be16(header, 12, 0x88b5);
	CHECK(driver.add_rule(0, 0, 1 << 18, header) == ok); /* drop the type */
	receive(driver, broadcast);
	CHECK(!rx_status(driver, 3));
	CHECK(driver.add_rule(0, 0, 1, header) == enosys); /* forwarding to a queue */
	driver.add_tx_queue(8);
	driver.add_rule(1, 0, 1 << 18, header);
	driver.send(ethernet(peer_mac, 0x88b5, 50), 0);
	CHECK(driver.host.sent.empty());
	driver.send(ethernet(peer_mac, 0x88b6, 50), 0);
	CHECK(driver.host.sent.size() == 1);
}

void link_events()
{
	LanDriver driver;
	Admin status;

	status.data.resize(32);
	status.params[2] = 3; /* enable events */
	driver.run(0x607, status);
	CHECK(status.data[2] == 0xe1 && status.params[2] == 1);
	driver.host.link_up = false;
	e810_device_link_changed(driver.host.device);
	CHECK(driver.read(regs::PF_FW_ARQBAL + 0x300) == 1);
	CHECK(driver.get<uint16_t>(lan_place::admin_receive + 2) == 0x607);
	CHECK(driver.get<uint8_t>(lan_place::event + 2) == 0x40);
	for (int i = 0; i < 40; i++) {
		driver.host.link_up = !driver.host.link_up;
		e810_device_link_changed(driver.host.device);
	}
	CHECK(driver.read(regs::PF_FW_ARQBAL + 0x300) == 15);
	CHECK(driver.read(regs::PF_FW_ARQBAL + 0x200) & 1u << 29); /* overflow */
}

} // namespace

int main()
{
	admin_queue();
	interrupts();
	resets();
	package();
	scheduler();
	traffic_classes();
	resources();
	flash();
	transmit();
	segmentation();
	transmit_faults();
	receive_rings();
	filters();
	link_events();
	std::printf("lan-rules: %s\n", broken ? "FAIL" : "PASS");
	return broken != 0;
}
