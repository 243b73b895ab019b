// SPDX-License-Identifier: GPL-2.0
/*
 * Log lines of the C++ side. They carry the name of the ib_device once it has
 * one, before that the name of the auxiliary device.
 */
#include <linux/printk.h>

#include "shim_device.h"

static void log_line(struct shim_device *dev, enum shim_level level, struct va_format *vaf)
{
	struct ib_device *ibdev = dev->registered ? &dev->ibdev : NULL;
	struct device *adev = &dev->adev->dev;

	switch (level) {
	case SHIM_ERR:
		if (ibdev)
			ibdev_err(ibdev, "%pV\n", vaf);
		else
			dev_err(adev, "%pV\n", vaf);
		break;
	case SHIM_WARN:
		if (ibdev)
			ibdev_warn(ibdev, "%pV\n", vaf);
		else
			dev_warn(adev, "%pV\n", vaf);
		break;
	case SHIM_INFO:
		if (ibdev)
			ibdev_info(ibdev, "%pV\n", vaf);
		else
			dev_info(adev, "%pV\n", vaf);
		break;
	case SHIM_DBG:
		if (ibdev)
			ibdev_dbg(ibdev, "%pV\n", vaf);
		else
			dev_dbg(adev, "%pV\n", vaf);
		break;
	}
}

/**
 * shim_log() - write one line to the kernel log
 * @dev: whose line it is
 * @level: how grave
 * @fmt: as printk(), without a newline
 *
 * Context: Any.
 */
void shim_log(struct shim_device *dev, enum shim_level level, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	log_line(dev, level, &vaf);
	va_end(args);
}

/**
 * shim_log_limited() - the same for what can happen often
 * @dev: whose line it is; the limit is per device and level
 * @level: how grave; SHIM_DBG is not limited
 * @fmt: as printk(), without a newline
 *
 * Context: Any.
 */
void shim_log_limited(struct shim_device *dev, enum shim_level level, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	if (level != SHIM_DBG && !__ratelimit(&dev->limited[level]))
		return;
	va_start(args, fmt);
	vaf.va = &args;
	log_line(dev, level, &vaf);
	va_end(args);
}

/**
 * shim_warn_once() - complain with a backtrace, once in the module's life
 * @what: which rule the driver broke
 *
 * Context: Any.
 */
void shim_warn_once(const char *what)
{
	WARN_ONCE(1, "%s\n", what);
}
