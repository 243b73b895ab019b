// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains: a number each.
 */
#include "pd.h"

#include "../device.h"

using namespace irdma;

/**
 * irdma_pd_create() - make a protection domain
 * @device: the device
 * @out: gets it
 * @pd_number: gets its number
 *
 * May sleep. Return: 0, -ENOMEM, or -ENOSPC if there are no more numbers.
 */
int irdma_pd_create(irdma_device *device, irdma_pd **out, u32 *pd_number)
{
	auto id = Id::alloc(from_c(device)->pd_ids);

	if (!id.ok())
		return id.code();
	auto pd = make<Pd>(id.take());
	if (!pd)
		return -SHIM_ENOMEM;
	*pd_number = pd->number();
	*out = to_c(pd.release());
	return 0;
}

/**
 * irdma_pd_destroy() - undo irdma_pd_create(); nothing is in it any more
 * @pd: the protection domain
 */
void irdma_pd_destroy(irdma_pd *pd)
{
	destroy(from_c(pd));
}
