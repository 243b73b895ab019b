// SPDX-License-Identifier: GPL-2.0
/*
 * Faults in C++, one a function, which only instrumentation of the object finds.
 *
 * Each hides what it does from the compiler, which would drop or refuse it.
 */
#include "faults.h"

namespace {

template <class T> T hidden(T value)
{
	asm volatile("" : "+r"(value));
	return value;
}

class Block {
public:
	Block()
		: m_words(static_cast<unsigned int *>(
			  faults_allocate(sizeof(unsigned int) * words)))
	{
	}
	~Block() { release(); }
	Block(const Block &) = delete;
	Block &operator=(const Block &) = delete;

	void release()
	{
		faults_free(m_words);
		m_words = nullptr;
	}

	unsigned int *at(unsigned long index) { return hidden(m_words) + index; }

	static constexpr unsigned long words = 8;

private:
	unsigned int *m_words;
};

struct Table {
	unsigned int before;
	unsigned int entries[4];
	unsigned int after;
};

enum Plain { plain_a, plain_b };

unsigned int constants[4] = {1, 2, 3, 4};
volatile unsigned int sink;

void beyond_heap()
{
	Block block;

	sink = *block.at(Block::words);
}

void freed()
{
	Block block;
	unsigned int *word = block.at(0);

	block.release();
	*hidden(word) = 1;
}

void beyond_stack()
{
	unsigned int words[4] = {};

	sink = hidden(&words[0])[hidden(4)];
}

void beyond_global()
{
	sink = hidden(&constants[0])[hidden(4)];
}

void beyond_array()
{
	Table table = {};
	Table *where = hidden(&table);

	sink = where->entries[hidden(4)];
}

void wide_shift()
{
	sink = 1U << hidden(40);
}

void odd_bool()
{
	unsigned char byte = 2;
	bool *where = reinterpret_cast<bool *>(hidden(&byte));

	sink = *where ? 3 : 4;
}

void odd_enum()
{
	unsigned int value = 7;
	Plain *where = reinterpret_cast<Plain *>(hidden(&value));

	sink = static_cast<unsigned int>(*where);
}

bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		++a;
		++b;
	}
	return *a == *b;
}

struct Fault {
	const char *name;
	void (*make)();
};

const Fault faults[] = {
	{"beyond_heap", beyond_heap},	{"freed", freed},
	{"beyond_stack", beyond_stack}, {"beyond_global", beyond_global},
	{"beyond_array", beyond_array}, {"wide_shift", wide_shift},
	{"odd_bool", odd_bool},		{"odd_enum", odd_enum},
};

} // namespace

int faults_of_cpp(const char *name)
{
	for (const Fault &fault : faults) {
		if (same(fault.name, name)) {
			fault.make();
			return 0;
		}
	}
	return -1;
}
