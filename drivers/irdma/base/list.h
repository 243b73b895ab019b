// SPDX-License-Identifier: GPL-2.0
/*
 * Intrusive doubly linked list. An element has a ListNode and knows its owner;
 * it leaves its list when it goes away.
 */
#ifndef IRDMA_BASE_LIST_H
#define IRDMA_BASE_LIST_H

#include "types.h"

namespace irdma {

/** A place in a list, member of the element @T. Locking is the list owner's. */
template <class T> class ListNode {
public:
	explicit ListNode(T *owner = nullptr) : owner_(owner) {}
	~ListNode() { unlink(); }
	ListNode(const ListNode &) = delete;
	ListNode &operator=(const ListNode &) = delete;

	bool linked() const { return next_ != this; }
	void unlink()
	{
		prev_->next_ = next_;
		next_->prev_ = prev_;
		next_ = prev_ = this;
	}

private:
	template <class> friend class List;
	T *owner_;
	ListNode *next_ = this, *prev_ = this;
};

/** The list; does not own its elements. */
template <class T> class List {
public:
	bool empty() const { return !head_.linked(); }

	void push_back(ListNode<T> &node)
	{
		node.unlink();
		node.prev_ = head_.prev_;
		node.next_ = &head_;
		head_.prev_->next_ = &node;
		head_.prev_ = &node;
	}

	/** The first element, or nullptr. */
	T *front() const { return empty() ? nullptr : head_.next_->owner_; }

	/** Take the first element out; nullptr if there is none. */
	T *pop_front()
	{
		T *first = front();

		if (first)
			head_.next_->unlink();
		return first;
	}

	class Iterator {
	public:
		explicit Iterator(const ListNode<T> *at) : at_(at) {}
		T &operator*() const { return *at_->owner_; }
		Iterator &operator++()
		{
			at_ = at_->next_;
			return *this;
		}
		bool operator!=(const Iterator &other) const { return at_ != other.at_; }

	private:
		const ListNode<T> *at_;
	};
	Iterator begin() const { return Iterator(head_.next_); }
	Iterator end() const { return Iterator(&head_); }

private:
	ListNode<T> head_;
};

} // namespace irdma

#endif
