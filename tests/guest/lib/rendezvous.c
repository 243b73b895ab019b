// SPDX-License-Identifier: GPL-2.0
/* Two processes meet over TCP, see rendezvous.h. */
#define _GNU_SOURCE
#include "rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 300
#define PAUSE_US 100000

/* The socket is an IPv6 one, so that IPv4 addresses come mapped, as GIDs have them. */
static int accept_one(uint16_t port)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int one = 1, fd = -1;
	int listener = socket(AF_INET6, SOCK_STREAM, 0);

	if (listener < 0)
		return -1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(listener, (struct sockaddr *)&here, sizeof(here)) && !listen(listener, 1))
		fd = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

static int connect_to(const char *server, uint16_t port)
{
	struct addrinfo hints = { .ai_family = AF_INET6, .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_V4MAPPED | AI_NUMERICHOST };
	struct addrinfo *to;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(server, service, &hints, &to))
		return -1;
	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_INET6, SOCK_STREAM, 0);

		if (fd >= 0 && !connect(fd, to->ai_addr, to->ai_addrlen)) {
			freeaddrinfo(to);
			return fd;
		}
		close(fd);
		usleep(PAUSE_US);
	}
	freeaddrinfo(to);
	return -1;
}

int rv_meet(struct rendezvous *rv, const char *server, uint16_t port)
{
	struct sockaddr_in6 local, peer;
	socklen_t size = sizeof(local);
	int one = 1;

	rv->fd = server ? connect_to(server, port) : accept_one(port);
	if (rv->fd < 0 || getsockname(rv->fd, (struct sockaddr *)&local, &size) ||
	    getpeername(rv->fd, (struct sockaddr *)&peer, &size)) {
		perror(server ? server : "listening");
		return -1;
	}
	setsockopt(rv->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	memcpy(rv->local.raw, &local.sin6_addr, sizeof(rv->local.raw));
	memcpy(rv->peer.raw, &peer.sin6_addr, sizeof(rv->peer.raw));
	return 0;
}

int rv_swap(struct rendezvous *rv, const void *mine, void *theirs, size_t size)
{
	if (send(rv->fd, mine, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    recv(rv->fd, theirs, size, MSG_WAITALL) != (ssize_t)size) {
		fprintf(stderr, "the other side is gone\n");
		return -1;
	}
	return 0;
}

int rv_barrier(struct rendezvous *rv)
{
	char mine = 0, theirs;

	return rv_swap(rv, &mine, &theirs, 1);
}

void rv_part(struct rendezvous *rv)
{
	close(rv->fd);
}
