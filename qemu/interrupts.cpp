// SPDX-License-Identifier: GPL-2.0
/* From causes to vectors to MSI-X; see interrupts.h. */
#include "interrupts.h"

#include "device.h"

namespace e810 {

namespace {

/* Cause control registers */
constexpr uint32_t cause_vector_mask = 0x7ff;
constexpr uint32_t cause_enable = 1u << 30;

/* GLINT_DYN_CTL */
constexpr uint32_t dyn_enable = 1u << 0;
constexpr uint32_t dyn_clear_pba = 1u << 1;
constexpr uint32_t dyn_software_trigger = 1u << 2;
constexpr uint32_t dyn_enable_mask = 1u << 31;

} // namespace

Interrupts::Interrupts(Device &dev) : dev_(dev), vectors_(e810_vectors(dev.host))
{
	Registers &r = dev.registers;

	r.claim<&Interrupts::read_dyn_ctl, &Interrupts::write_dyn_ctl>(
		this, regs::GLINT_DYN_CTL, static_cast<uint32_t>(vectors_.size()));
	r.claim<&Interrupts::read_oicr, &Interrupts::write_oicr>(this, regs::PFINT_OICR);
	r.claim<nullptr, &Interrupts::write_oicr_enable>(this, regs::PFINT_OICR_ENA);
}

void Interrupts::raise(Cause cause)
{
	uint32_t control = dev_.registers.get(cause.control);

	if (control & cause_enable)
		fire(control & cause_vector_mask);
}

void Interrupts::raise_oicr(uint32_t bits)
{
	Registers &r = dev_.registers;

	r.set(regs::PFINT_OICR, r.get(regs::PFINT_OICR) | bits);
	if (r.get(regs::PFINT_OICR) & r.get(regs::PFINT_OICR_ENA)) {
		uint32_t control = r.get(regs::PFINT_OICR_CTL);

		if (control & cause_enable)
			fire(control & cause_vector_mask);
	}
}

void Interrupts::fire(uint32_t vector)
{
	if (vector >= vectors_.size()) {
		dev_.guest_error("interrupt cause names vector %u of %zu", vector, vectors_.size());
		return;
	}
	if (vectors_[vector].enabled)
		deliver(vector);
	else
		vectors_[vector].pending = true;
}

void Interrupts::deliver(uint32_t vector)
{
	vectors_[vector].enabled = false;
	vectors_[vector].pending = false;
	if (vectors_[vector].drop) {
		vectors_[vector].drop--;
		dev_.trace.event("irq_drop").u64("vector", vector);
		return;
	}
	e810_msix_notify(dev_.host, vector);
}

uint32_t Interrupts::read_dyn_ctl(uint32_t vector)
{
	uint32_t value = dev_.registers.get(regs::GLINT_DYN_CTL + 4 * vector);

	return (value & ~dyn_enable) | (vectors_[vector].enabled ? dyn_enable : 0);
}

void Interrupts::write_dyn_ctl(uint32_t vector, uint32_t value)
{
	Vector &v = vectors_[vector];

	if (dev_.rdma.events.uses_vector(vector))
		dev_.trace.event("reg")
			.str("name", "dynctl")
			.u64("vector", vector)
			.hex("value", value);
	dev_.registers.set(regs::GLINT_DYN_CTL + 4 * vector,
			   value & ~(dyn_clear_pba | dyn_software_trigger | dyn_enable_mask));
	/*
	 * CLEARPBA only takes back a message that MSI-X holds. An event that came while the vector was
	 * disabled is kept: drivers set CLEARPBA whenever they enable and count on that.
	 */
	if (value & dyn_clear_pba)
		e810_msix_clear_pending(dev_.host, vector);
	if (!(value & dyn_enable_mask))
		v.enabled = value & dyn_enable;
	if (value & dyn_software_trigger)
		v.pending = true;
	if (v.enabled && v.pending)
		deliver(vector);
	if (v.enabled)
		dev_.rdma.injections.vector_enabled(vector);
}

void Interrupts::send_spurious(uint32_t vector)
{
	vectors_[vector].enabled = false;
	e810_msix_notify(dev_.host, vector);
}

void Interrupts::drop(uint32_t vector, uint32_t count)
{
	vectors_[vector].drop += count;
}

std::optional<uint32_t> Interrupts::vector_of(Cause cause) const
{
	uint32_t control = dev_.registers.get(cause.control);
	uint32_t vector = control & cause_vector_mask;

	if (!(control & cause_enable) || vector >= vectors_.size())
		return std::nullopt;
	return vector;
}

uint32_t Interrupts::read_oicr(uint32_t)
{
	uint32_t causes = dev_.registers.get(regs::PFINT_OICR);

	dev_.registers.set(regs::PFINT_OICR, 0);
	return causes;
}

void Interrupts::write_oicr(uint32_t, uint32_t value)
{
	/* Writing 1 raises a cause: how drivers trigger the vector themselves. */
	raise_oicr(value);
}

void Interrupts::write_oicr_enable(uint32_t, uint32_t value)
{
	dev_.registers.set(regs::PFINT_OICR_ENA, value);
	raise_oicr(0);
}

void Interrupts::reset(ResetKind)
{
	for (Vector &v : vectors_)
		v = Vector{};
}

} // namespace e810
