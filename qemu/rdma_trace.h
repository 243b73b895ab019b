// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of the engine's structures into the trace, with the field lists of drivers/irdma/hw/.
 */
#pragma once

#include <string>
#include <string_view>

#include "irdma/hw/field.h"
#include "trace.h"

namespace e810 {

namespace hw = irdma::hw;

/**
 * Adds all fields of @p words that are not zero: in hexadecimal if wider than 32 bits (addresses,
 * contexts), else as numbers. Opcode and valid bit are left out: the event names the one, and the
 * other only tells the lap. Bits that belong to no field, should any be set, come as "word N".
 */
template <unsigned Count>
TraceEvent &decode(TraceEvent &event, const hw::Layout &layout, const hw::Words<Count> &words)
{
	if (!event.on())
		return event;
	for (unsigned i = 0; i < layout.count; i++) {
		const hw::Field &field = layout.fields[i];
		std::string_view name = field.name;
		uint64_t value = words.get(field);

		if (!value || name == "opcode" || name == "valid")
			continue;
		if (field.width() > 32)
			event.hex(field.name, value);
		else
			event.u64(field.name, value);
	}
	for (unsigned i = 0; i < Count; i++) {
		uint64_t unknown = words.qw[i].get();

		for (unsigned f = 0; f < layout.count; f++)
			if (layout.fields[f].word == i)
				unknown &= ~layout.fields[f].mask();
		if (unknown)
			event.hex(("word " + std::to_string(i)).c_str(), unknown);
	}
	return event;
}

} // namespace e810
