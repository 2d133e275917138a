/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of other GPIO chips, named by a module's parameters: "LABEL/OFFSET" (label of the chip) or
 * the line's own name. They come through a lookup table: without a device tree, the kernel has no
 * other way to request a line by chip or name.
 */
#ifndef RTSCOPE_LINE_H
#define RTSCOPE_LINE_H

#include <linux/err.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

/* The offset in a lookup table's entry whose key is the name of a line. */
#define LINE_BY_NAME	U16_MAX

struct line_spec {
	char key[64];
	u16 offset;
};

static inline int line_parse(const char *text, struct line_spec *spec)
{
	const char *slash = strrchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);

	if (!len || len >= sizeof(spec->key))
		return -EINVAL;
	memcpy(spec->key, text, len);
	spec->key[len] = 0;
	spec->offset = LINE_BY_NAME;
	if (slash && (kstrtou16(slash + 1, 10, &spec->offset) || spec->offset == LINE_BY_NAME))
		return -EINVAL;
	return 0;
}

/* A platform device for the module's lines, and the lookup table that assigns the lines to it. */
struct line_owner {
	struct platform_device *device;
	struct gpiod_lookup_table *table;
};

static inline void line_owner_remove(struct line_owner *owner)
{
	gpiod_remove_lookup_table(owner->table);
	platform_device_unregister(owner->device);
	kfree(owner->table);
}

/* gpiod_get() finds the lines by names[], in the order of specs[]. */
static inline int line_owner_add(struct line_owner *owner, const char *name,
				 const struct line_spec *specs, const char * const *names,
				 unsigned int n)
{
	unsigned int i;

	/* An empty entry ends the table. */
	owner->table = kzalloc(struct_size(owner->table, table, n + 1), GFP_KERNEL);
	if (!owner->table)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		owner->table->table[i] = GPIO_LOOKUP(specs[i].key, specs[i].offset, names[i],
						     GPIO_ACTIVE_HIGH);

	owner->device = platform_device_register_simple(name, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(owner->device)) {
		kfree(owner->table);
		return PTR_ERR(owner->device);
	}
	owner->table->dev_id = dev_name(&owner->device->dev);
	gpiod_add_lookup_table(owner->table);
	return 0;
}

/* Requests the line; on failure, logs a message that names it. */
static inline struct gpio_desc *line_get(struct line_owner *owner, const char *name,
					 const char *text, enum gpiod_flags flags)
{
	struct gpio_desc *line = gpiod_get(&owner->device->dev, name, flags);

	/*
	 * The kernel would retry once the chip appears; a module that is being loaded needs the
	 * line now.
	 */
	if (line == ERR_PTR(-EPROBE_DEFER))
		line = ERR_PTR(-ENODEV);
	if (!IS_ERR(line))
		return line;
	switch (PTR_ERR(line)) {
	case -ENODEV:
	case -ENOENT:
		pr_err("%s=%s: there is no such line\n", name, text);
		break;
	case -EINVAL:
		pr_err("%s=%s: the chip has no such line\n", name, text);
		break;
	case -EOPNOTSUPP:
		pr_err("%s=%s: the line has the other direction\n", name, text);
		break;
	case -EBUSY:
		pr_err("%s=%s: the line is in use\n", name, text);
		break;
	default:
		pr_err("%s=%s: the line can't be had: %ld\n", name, text, PTR_ERR(line));
	}
	return line;
}

#endif /* RTSCOPE_LINE_H */
