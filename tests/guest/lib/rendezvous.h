/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two processes that are to exchange data over RDMA meet over TCP: one listens,
 * the other connects; both then tell each other what they have to know, and wait
 * for each other between steps. The address of the connection also says which
 * GID to use.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/** struct rendezvous - a TCP connection between the two
 * @fd: its socket
 * @local: own end as a GID, IPv4 addresses mapped
 * @peer: the other end
 */
struct rendezvous {
	int fd;
	union ibv_gid local;
	union ibv_gid peer;
};

/**
 * rv_meet() - listen, or connect to a listener
 * @rv: filled in
 * @server: address of the listener, IPv4 or IPv6; NULL to be it
 * @port: TCP port
 *
 * A client tries for half a minute. Return: 0, or -1 after a message on stderr.
 */
int rv_meet(struct rendezvous *rv, const char *server, uint16_t port);

/**
 * rv_swap() - give bytes to the other side and take as many of it
 * @rv: the connection
 * @mine: what is sent
 * @theirs: where to put what comes
 * @size: of both
 *
 * It is a barrier as well. Return: 0, or -1 after a message if the other is gone.
 */
int rv_swap(struct rendezvous *rv, const void *mine, void *theirs, size_t size);

/** rv_barrier() - wait until the other side is here too; returns as rv_swap() */
int rv_barrier(struct rendezvous *rv);

/** rv_part() - close the connection */
void rv_part(struct rendezvous *rv);

#endif
