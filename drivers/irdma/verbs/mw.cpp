// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows.
 */
#include "mw.h"

#include "driver.h"

namespace irdma {

Result<Owner<Mw>> Mw::create(Device &device, Pd &pd, bool type1)
{
	auto stag = Stag::alloc(device);

	IRDMA_TRY(stag);
	auto mw = make<Mw>(device, stag.take(), pd);
	if (!mw)
		return Error::no_memory;

	auto made = device.cqp.run(cmd::AllocMwStag{mw->stag(), pd.number(), type1});
	if (!made.ok() && device.dead())
		mw->stag_.abandon(); /* it may have been made all the same */
	IRDMA_TRY(made);
	return move(mw);
}

Status Mw::deallocate(bool may_fail)
{
	auto done = device_.cqp.run(
		cmd::DeallocStag{.stag = stag(), .pd = pd_.number(), .is_mr = false});

	if (done.ok())
		return {};
	if (may_fail && device_.can_try_again())
		return done.status();
	pd_.keep_number();
	stag_.abandon();
	return {};
}

} // namespace irdma

using namespace irdma;

/**
 * irdma_mw_create() - make a memory window
 * @device: the device
 * @pd: its protection domain
 * @type: enum ib_mw_type: 1 or 2
 * @out: gets it
 * @rkey: gets its STag
 *
 * May sleep. Return: 0; -EINVAL for another type; -ENOMEM; -ENOSPC; -ENODEV.
 */
int irdma_mw_create(irdma_device *device, irdma_pd *pd, u32 type, irdma_mw **out, u32 *rkey)
{
	if (type != 1 && type != 2)
		return -SHIM_EINVAL;
	auto mw = Mw::create(*from_c(device), *from_c(pd), type == 1);

	if (!mw.ok())
		return mw.code();
	*rkey = mw.value()->stag();
	*out = to_c(mw.value().release());
	return 0;
}

/**
 * irdma_mw_destroy() - destroy a memory window
 * @mw: the window
 * @may_fail: the caller can be told of a failure, and try again
 *
 * May sleep. Return: 0; or the error of a device that refuses: the window is as it was.
 */
int irdma_mw_destroy(irdma_mw *mw, bool may_fail)
{
	Status done = from_c(mw)->deallocate(may_fail);

	if (done.ok())
		destroy(from_c(mw));
	return done.code();
}
