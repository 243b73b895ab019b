/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modifications of a queue pair that the InfiniBand specification lets
 * through (volume 1, "Modify Queue Pair" and the figure of its states), with
 * the attributes that each requires and allows. ib_core's qp_state_table says
 * the same. It is written out here so that tests need not ask the code that
 * they test. Plain C without includes, for programs and for kernel modules:
 * the includer brings uint8_t and uint32_t.
 *
 * SQE is entered by hardware alone, so no row leads to it; and the E810 takes
 * a UD queue pair to ERR instead, so none starts from it either.
 */
#ifndef QP_STATES_H
#define QP_STATES_H

/* States and attributes as ib_core and libibverbs number them. */
enum { Q_RESET, Q_INIT, Q_RTR, Q_RTS, Q_SQD, Q_SQE, Q_ERR, Q_STATES };

enum {
	A_STATE = 1 << 0,
	A_CUR_STATE = 1 << 1,
	A_SQD_NOTIFY = 1 << 2,
	A_ACCESS = 1 << 3,
	A_PKEY = 1 << 4,
	A_PORT = 1 << 5,
	A_QKEY = 1 << 6,
	A_AV = 1 << 7,
	A_PATH_MTU = 1 << 8,
	A_TIMEOUT = 1 << 9,
	A_RETRY = 1 << 10,
	A_RNR_RETRY = 1 << 11,
	A_RQ_PSN = 1 << 12,
	A_ORD = 1 << 13,
	A_ALT_PATH = 1 << 14,
	A_RNR_TIMER = 1 << 15,
	A_SQ_PSN = 1 << 16,
	A_IRD = 1 << 17,
	A_MIG_STATE = 1 << 18,
	A_CAP = 1 << 19,
	A_DEST_QP = 1 << 20,
	A_BITS = 21
};

/* Types of queue pairs, as columns of the table. */
enum { T_RC, T_UD, T_GSI, T_TYPES };

/** struct qp_transition - one legal pair of states
 * @from: state before
 * @to: state afterwards
 * @required: attributes beside A_STATE that must be given, by type
 * @optional: attributes that may be given, by type
 */
struct qp_transition {
	uint8_t from, to;
	uint32_t required[T_TYPES], optional[T_TYPES];
};

/* What an RC queue pair in operation may be given besides. */
#define A_RC_RUNNING (A_CUR_STATE | A_ALT_PATH | A_ACCESS | A_RNR_TIMER | A_MIG_STATE)

static const struct qp_transition qp_transitions[] = {
	{ Q_RESET, Q_RESET, {}, {} },
	{ Q_RESET, Q_INIT,
	  { [T_RC] = A_PKEY | A_PORT | A_ACCESS, [T_UD] = A_PKEY | A_PORT | A_QKEY,
	    [T_GSI] = A_PKEY | A_QKEY }, {} },

	{ Q_INIT, Q_RESET, {}, {} },
	{ Q_INIT, Q_ERR, {}, {} },
	{ Q_INIT, Q_INIT, {},
	  { [T_RC] = A_PKEY | A_PORT | A_ACCESS, [T_UD] = A_PKEY | A_PORT | A_QKEY,
	    [T_GSI] = A_PKEY | A_QKEY } },
	{ Q_INIT, Q_RTR,
	  { [T_RC] = A_AV | A_PATH_MTU | A_DEST_QP | A_RQ_PSN | A_IRD | A_RNR_TIMER },
	  { [T_RC] = A_ALT_PATH | A_ACCESS | A_PKEY, [T_UD] = A_PKEY | A_QKEY,
	    [T_GSI] = A_PKEY | A_QKEY } },

	{ Q_RTR, Q_RESET, {}, {} },
	{ Q_RTR, Q_ERR, {}, {} },
	{ Q_RTR, Q_RTS,
	  { [T_RC] = A_TIMEOUT | A_RETRY | A_RNR_RETRY | A_SQ_PSN | A_ORD, [T_UD] = A_SQ_PSN,
	    [T_GSI] = A_SQ_PSN },
	  { [T_RC] = A_RC_RUNNING, [T_UD] = A_CUR_STATE | A_QKEY,
	    [T_GSI] = A_CUR_STATE | A_QKEY } },

	{ Q_RTS, Q_RESET, {}, {} },
	{ Q_RTS, Q_ERR, {}, {} },
	{ Q_RTS, Q_RTS, {},
	  { [T_RC] = A_RC_RUNNING, [T_UD] = A_CUR_STATE | A_QKEY,
	    [T_GSI] = A_CUR_STATE | A_QKEY } },
	{ Q_RTS, Q_SQD, {},
	  { [T_RC] = A_SQD_NOTIFY, [T_UD] = A_SQD_NOTIFY, [T_GSI] = A_SQD_NOTIFY } },

	{ Q_SQD, Q_RESET, {}, {} },
	{ Q_SQD, Q_ERR, {}, {} },
	{ Q_SQD, Q_RTS, {},
	  { [T_RC] = A_RC_RUNNING, [T_UD] = A_CUR_STATE | A_QKEY,
	    [T_GSI] = A_CUR_STATE | A_QKEY } },
	{ Q_SQD, Q_SQD, {},
	  { [T_RC] = A_PORT | A_AV | A_TIMEOUT | A_RETRY | A_RNR_RETRY | A_ORD | A_IRD |
		     A_ALT_PATH | A_ACCESS | A_PKEY | A_RNR_TIMER | A_MIG_STATE,
	    [T_UD] = A_PKEY | A_QKEY, [T_GSI] = A_PKEY | A_QKEY } },

	{ Q_ERR, Q_RESET, {}, {} },
	{ Q_ERR, Q_ERR, {}, {} },
};

/** qp_transition_of() - the row of a pair of states, or NULL for an illegal one */
static inline const struct qp_transition *qp_transition_of(int from, int to)
{
	const unsigned int rows = sizeof(qp_transitions) / sizeof(qp_transitions[0]);

	for (unsigned int i = 0; i < rows; i++)
		if (qp_transitions[i].from == from && qp_transitions[i].to == to)
			return &qp_transitions[i];
	return (const struct qp_transition *)0;
}

/** qp_arrival_mask() - the attributes that a state needs when it is entered the regular way */
static inline uint32_t qp_arrival_mask(int to, int type)
{
	const struct qp_transition *row =
		to >= Q_INIT && to <= Q_RTS ? qp_transition_of(to - 1, to) : (void *)0;

	return A_STATE | (row ? row->required[type] : 0);
}

/** qp_attribute_name() - "PORT", ... of one A_* bit */
static inline const char *qp_attribute_name(uint32_t bit)
{
	static const char *const names[A_BITS] = {
		"STATE", "CUR_STATE", "EN_SQD_ASYNC_NOTIFY", "ACCESS_FLAGS", "PKEY_INDEX", "PORT",
		"QKEY", "AV", "PATH_MTU", "TIMEOUT", "RETRY_CNT", "RNR_RETRY", "RQ_PSN",
		"MAX_QP_RD_ATOMIC", "ALT_PATH", "MIN_RNR_TIMER", "SQ_PSN", "MAX_DEST_RD_ATOMIC",
		"PATH_MIG_STATE", "CAP", "DEST_QPN",
	};

	for (unsigned int i = 0; i < A_BITS; i++)
		if (bit == 1u << i)
			return names[i];
	return "?";
}

#endif
